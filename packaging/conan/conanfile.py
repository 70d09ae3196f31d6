"""coracle as a Conan 2 package, made of the checkout that this file is in:

    conan create packaging/conan
"""
import os

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, rmdir

OLDEST = {"gcc": 12, "clang": 19}
PARTS = ["CMakeLists.txt", "LICENSE", "cmake/*", "compat/*", "include/*", "modules/*", "src/*", "tools/coracle_lint/*",
         "tools/debugger/*"]


class CoracleRecipe(ConanFile):
    name = "coracle"
    version = "0.2.0"
    description = "C++20 coroutines and an asynchronous runtime for Linux"
    license = "MIT"
    topics = ("coroutines", "async", "io_uring", "cppcoro")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "tls": [True, False]}
    default_options = {"shared": False, "fPIC": True, "tls": True}

    def export_sources(self):
        checkout = os.path.join(self.recipe_folder, "..", "..")
        for part in PARTS:
            copy(self, part, checkout, self.export_sources_folder)

    def configure(self):
        if self.options.shared:
            self.options.rm_safe("fPIC")

    def validate(self):
        check_min_cppstd(self, 20)
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("coracle needs Linux")
        compiler = str(self.settings.compiler)
        if compiler not in OLDEST or int(str(self.settings.compiler.version).split(".")[0]) < OLDEST[compiler]:
            raise ConanInvalidConfiguration("coracle needs g++ 12 or clang 19, or later")

    def requirements(self):
        if self.options.tls:
            self.requires("openssl/[>=3 <4]")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("TESTS", "EXAMPLES", "TOUR", "BENCH"):
            toolchain.cache_variables[f"CORACLE_BUILD_{part}"] = False
        toolchain.cache_variables["CORACLE_TLS"] = bool(self.options.tls)
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()
        # Conan writes its own, from package_info().
        rmdir(self, os.path.join(self.package_folder, "lib", "cmake"))
        rmdir(self, os.path.join(self.package_folder, "lib", "pkgconfig"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "coracle")
        self._component("coracle", "coracle", [])
        self.cpp_info.components["coracle"].system_libs = ["pthread"]
        self._component("io", "coracle-io", ["coracle"])
        self._component("testing", "coracle-testing", ["coracle"])
        self._component("testing_io", "coracle-testing-io", ["testing", "io"])
        self._component("cppcoro", "coracle-cppcoro", ["io"], has_library=False)
        self.cpp_info.components["cppcoro"].includedirs.append("include/coracle-cppcoro")
        self._component("inspect", "coracle-inspect", ["coracle"])
        self.cpp_info.components["inspect"].exelinkflags = ["-Wl,--undefined=coracle_inspector_of_environment"]
        if self.options.tls:
            self._component("tls", "coracle-tls", ["io"])
            self.cpp_info.components["tls"].requires += ["openssl::ssl", "openssl::crypto"]
        self._component("model", "coracle-model", [])
        self.cpp_info.components["model"].defines = ["CORACLE_MODEL", "CORACLE_ENABLE_CHECKS=1"]
        # As the exported targets say: g++ makes tail calls at -O1 and -Og only with this flag.
        if str(self.settings.compiler) == "gcc" and str(self.settings.build_type) != "Debug":
            for name in ("coracle", "model"):
                self.cpp_info.components[name].cxxflags = ["-foptimize-sibling-calls"]

    def _component(self, name, package, requires, has_library=True):
        part = self.cpp_info.components[name]
        part.set_property("cmake_target_name", f"coracle::{name}")
        if package:
            part.set_property("pkg_config_name", package)
        part.libs = [package] if package and has_library else []
        part.requires = requires
