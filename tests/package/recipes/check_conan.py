#!/usr/bin/env python3
"""Runs packaging/conan/conanfile.py with a stand-in for the parts of Conan 2 that it uses, and compares what it says about
the package with what is installed.

usage: check_conan.py BUILD PACKAGE

BUILD is a Release build of coracle, which is installed in place of a new one; PACKAGE is a folder to make.
"""
import fnmatch
import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


class Named(types.SimpleNamespace):
    """Attributes, and the methods of Conan's that take them as a whole."""

    def rm_safe(self, name):
        self.__dict__.pop(name, None)


class Component:
    def __init__(self):
        self.properties, self.libs, self.requires, self.system_libs = {}, [], [], []
        self.defines, self.cxxflags, self.exelinkflags, self.includedirs = [], [], [], ["include"]

    def set_property(self, name, value):
        self.properties[name] = value


class PackageInfo(Component):
    def __init__(self):
        super().__init__()
        self.components = ComponentTable()


class ComponentTable(dict):
    def __missing__(self, name):
        self[name] = Component()
        return self[name]


class InvalidConfiguration(Exception):
    pass


def copy(recipe, pattern, source, target):
    for path in Path(source).resolve().rglob("*"):
        relative = path.relative_to(Path(source).resolve())
        if path.is_file() and relative.parts[0] not in (".git", "build") and fnmatch.fnmatch(str(relative), pattern):
            there = Path(target, relative)
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, there)


class Toolchain:
    def __init__(self, recipe):
        self.cache_variables, self.recipe = {}, recipe

    def generate(self):
        cache = Path(self.recipe.built, "CMakeCache.txt").read_text()
        for name, value in self.cache_variables.items():
            if not re.search(f"^{name}:BOOL={'ON' if value else 'OFF'}$", cache, re.MULTILINE):
                sys.exit(f"conan: coracle has no option {name}, or the build another value")


class CMake:
    def __init__(self, recipe):
        self.recipe = recipe

    def configure(self):
        """What was exported is enough to configure."""
        build = Path(self.recipe.source_folder, "build")
        subprocess.run(["cmake", "-S", self.recipe.source_folder, "-B", build, "-DCMAKE_CXX_COMPILER=g++-12",
                        *(f"-DCORACLE_BUILD_{part}=OFF" for part in ("TESTS", "EXAMPLES", "TOUR", "BENCH"))],
                       check=True, stdout=subprocess.DEVNULL)

    def build(self):
        pass

    def install(self):
        subprocess.run(["cmake", "--install", self.recipe.built, "--prefix", self.recipe.package_folder], check=True,
                       stdout=subprocess.DEVNULL)


def stand_in():
    """The modules that the recipe imports."""
    parts = {
        "conan": {"ConanFile": object},
        "conan.errors": {"ConanInvalidConfiguration": InvalidConfiguration},
        "conan.tools": {},
        "conan.tools.build": {"check_min_cppstd": lambda recipe, least: None},
        "conan.tools.cmake": {"CMake": CMake, "CMakeToolchain": Toolchain, "cmake_layout": lambda recipe: None,
                              "CMakeDeps": lambda recipe: types.SimpleNamespace(generate=lambda: None)},
        "conan.tools.files": {"copy": copy, "rmdir": lambda recipe, folder: shutil.rmtree(folder)},
    }
    for name, content in parts.items():
        module = types.ModuleType(name)
        module.__dict__.update(content)
        sys.modules[name] = module


def load(recipe_file):
    spec = importlib.util.spec_from_file_location("conanfile", recipe_file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.CoracleRecipe()


class Compiler:
    def __init__(self, name, version):
        self.name, self.version = name, version

    def __str__(self):
        return self.name


def is_refused(recipe, name, version, system="Linux"):
    recipe.settings = Named(os=system, build_type="Release", compiler=Compiler(name, version))
    try:
        recipe.validate()
    except InvalidConfiguration:
        return True
    return False


def main():
    built, package = (Path(argument).resolve() for argument in sys.argv[1:])
    stand_in()
    recipe = load(ROOT / "packaging/conan/conanfile.py")
    wrong = []
    for name, version, system, refused in (
            ("gcc", "11.4", "Linux", True), ("gcc", "12", "Linux", False), ("msvc", "194", "Windows", True),
            ("clang", "18", "Linux", True), ("clang", "22.1", "Linux", False)):
        if is_refused(recipe, name, version, system) != refused:
            wrong.append(f"validate() is wrong about {name} {version}")

    recipe.settings = Named(os="Linux", build_type="Release", compiler=Compiler("gcc", "12"))
    recipe.options = Named(shared=False, fPIC=True, tls=True)
    required = []
    recipe.requires = required.append
    recipe.recipe_folder, recipe.built = str(ROOT / "packaging/conan"), str(built)
    recipe.package_folder, recipe.cpp_info = str(package), PackageInfo()
    with tempfile.TemporaryDirectory() as sources:
        recipe.export_sources_folder = recipe.source_folder = sources
        for step in (recipe.export_sources, recipe.configure, recipe.requirements, recipe.layout, recipe.generate, recipe.build):
            step()
        # Before the recipe removes them: what the package says about itself.
        as_built = package.with_name(package.name + "-installed")
        subprocess.run(["cmake", "--install", built, "--prefix", as_built], check=True, stdout=subprocess.DEVNULL)
        recipe.package()
        recipe.package_info()

    exported = {target for file in as_built.rglob("coracle-*.cmake")
                for target in re.findall(r"^add_library\((coracle::\w+) ", file.read_text(), re.MULTILINE)}
    described = {file.stem: file.read_text() for file in as_built.rglob("*.pc")}
    targets, packages, libraries = set(), set(), set()
    for name, part in recipe.cpp_info.components.items():
        targets.add(part.properties["cmake_target_name"])
        pc = part.properties.get("pkg_config_name")
        packages |= {pc} - {None}
        libraries |= set(part.libs)
        own = [other for other in part.requires if "::" not in other]
        wrong += [f"{name} requires {other}, which is no component" for other in own
                  if other not in recipe.cpp_info.components]
        wrong += [f"{name} requires {other} of a package that is not required" for other in part.requires
                  if other not in own and not any(each.startswith(other.split("::")[0] + "/") for each in required)]
        wrong += [f"{name}: no folder {folder}" for folder in part.includedirs if not (package / folder).is_dir()]
        needed = {recipe.cpp_info.components[other].properties.get("pkg_config_name") for other in own} - {None}
        found = re.search(r"^Requires: (.*)$", described.get(pc, ""), re.MULTILINE)
        stated = set(re.findall(r"coracle[\w-]*", found[1])) if found else set()
        if pc and needed != stated:
            wrong.append(f"{name}: the recipe requires {sorted(needed)}, {pc}.pc {sorted(stated)}")
    installed = {file.stem.removeprefix("lib") for file in package.rglob("lib*.a")}
    for what, says, has in (("targets", targets, exported), ("pkg-config packages", packages, set(described)),
                            ("libraries", libraries, installed)):
        if says != has:
            wrong.append(f"{what}: the recipe has {sorted(says)}, the installation {sorted(has)}")
    version = re.search(r"project\(coracle VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    recipes = ("packaging/conan/conanfile.py", "packaging/vcpkg/coracle/vcpkg.json")
    wrong += [f"{file} has another version than {version}" for file in recipes
              if f'"{version}"' not in (ROOT / file).read_text()]
    wrong += [f"the package has no {name}" for name in ("licenses/LICENSE", "include/coracle/coracle.hpp")
              if not (package / name).is_file()]
    print("\n".join(wrong) or f"{len(recipe.cpp_info.components)} components are as installed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
