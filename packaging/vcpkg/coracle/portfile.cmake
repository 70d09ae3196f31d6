# An overlay port, which builds the checkout that it is in:
#   vcpkg install coracle --overlay-ports=packaging/vcpkg
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS features FEATURES tls CORACLE_TLS)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    -DCORACLE_BUILD_TESTS=OFF
    -DCORACLE_BUILD_EXAMPLES=OFF
    -DCORACLE_BUILD_TOUR=OFF
    -DCORACLE_BUILD_BENCH=OFF
    ${features})
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME coracle CONFIG_PATH lib/cmake/coracle)
vcpkg_fixup_pkgconfig()

# coracle_lint() in CMake finds the lint in share/coracle; the two programs find their modules only from bin/.
file(REMOVE_RECURSE
  "${CURRENT_PACKAGES_DIR}/bin"
  "${CURRENT_PACKAGES_DIR}/share/man"
  "${CURRENT_PACKAGES_DIR}/debug/bin"
  "${CURRENT_PACKAGES_DIR}/debug/include"
  "${CURRENT_PACKAGES_DIR}/debug/share")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
