#!/usr/bin/env bash
# Labels, kernels, teams and tables on an ARM64 that qemu emulates. Debian's packages of Python for
# ARM64 are unpacked into .venv/arm64: neither root nor an installation is needed.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD/.venv/arm64
python=$root/usr/bin/python
tests=(devices/test_{bits,threads,every_kernel} runs/test_team labeling/test_labeling
    measuring/test_{measuring,exact_intensities,wide_sums} segmentation/test_tracking)

fail() {
    echo "make test-arm $*" >&2
    exit 1
}

unpack() {
    here=$(dpkg --print-architecture) || fail "needs Debian; got no dpkg. Use a container of Debian."
    rm -rf "$root"
    mkdir -p "$root/usr/lib" "$root/apt/lists/partial" "$root/apt/archives/partial"
    ln -s usr/lib "$root/lib" # as in newer releases
    : >"$root/apt/status"     # nothing is installed: all that is needed is fetched
    cat >"$root/apt/apt.conf" <<END
#clear APT::Architectures;
APT { Architecture "arm64"; Architectures { "arm64"; "$here"; }; };
APT { Install-Recommends "false"; Sandbox::User "root"; };
Dir { State "$root/apt"; State::status "$root/apt/status"; Cache "$root/apt"; };
END
    export APT_CONFIG=$root/apt/apt.conf
    apt-get -qq update && apt-get -qq install --download-only --yes \
        python3 libstdc++6 "qemu-user-static:$here" >/dev/null ||
        fail "needs sources of packages for arm64; got none, see above. Use a container of Debian."
    for package in "$root"/apt/archives/*.deb; do
        dpkg-deb --fsys-tarfile "$package" | tar -x --keep-directory-symlink -C "$root"
    done
    rm -r "$root/apt"
    # -0 tells Python what to start as another Python.
    cat >"$python" <<END
#!/bin/sh
exec "$root/usr/bin/qemu-aarch64-static" -cpu max -L "$root" -0 "$python" "$root/usr/bin/python3" "\$@"
END
    chmod +x "$python"
}

[ -x "$python" ] || unpack
if [ pyproject.toml -nt "$root/needed" ]; then # pip, as the other Python runs it, chooses its wheels
    "$python" -c 'import tomllib
print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"], sep="\n")' >"$root/new"
    "$python" .venv/lib/python3*/site-packages/pip --quiet --disable-pip-version-check install \
        --root-user-action ignore --no-compile --only-binary :all: --upgrade --target "$root/site" \
        --requirement "$root/new" pytest pytest-xdist hypothesis
    mv "$root/new" "$root/needed"
fi
export PYTHONPATH=$PWD/src:$root/site NUMBA_CACHE_DIR=$root/compiled
exec "$python" -m pytest -n auto --dist worksteal -m "not slow and not long" $(printf "tests/%s.py " "${tests[@]}")
