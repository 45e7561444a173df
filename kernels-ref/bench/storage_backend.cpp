#include "bench/storage_backend.h"

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace kref::bench {

namespace {

std::string read_line(const std::string &path) {
    char line[256] = "";
    FILE *file = fopen(path.c_str(), "r");
    if (file != nullptr) {
        if (fgets(line, sizeof line, file) == nullptr) {
            line[0] = '\0';
        }
        fclose(file);
    }
    size_t length = strcspn(line, "\n");
    while (length > 0 && line[length - 1] == ' ') {
        length--;
    }
    return std::string(line, length);
}

/* The model of the disk that a file system lies on, else what the system calls it. */
std::string disk_name(dev_t device) {
    std::string link = "/sys/dev/block/" + std::to_string(major(device)) + ":" +
                       std::to_string(minor(device));
    char resolved[PATH_MAX];
    if (realpath(link.c_str(), resolved) == nullptr) {
        return "a storage that is no block device";
    }
    std::string folder = resolved;
    std::string name = folder.substr(folder.rfind('/') + 1);
    for (const std::string &place : {folder, folder.substr(0, folder.rfind('/'))}) {
        std::string model = read_line(place + "/device/model");
        if (!model.empty()) {
            return model;
        }
    }
    return name;
}

} // namespace

storage_backend::storage_backend(const identity &who, const std::string &folder)
    : host_backend(who), folder_(folder) {
}

storage_backend::~storage_backend() {
    if (file_ >= 0) {
        close(file_);
    }
}

const char *storage_backend::make_file() {
    std::string path = folder_ + "/kref_bench_XXXXXX";
    file_ = mkostemp(path.data(), O_DIRECT);
    if (file_ < 0) {
        return errno == EINVAL ? "the file system of the folder refuses O_DIRECT"
                               : "no file can be made in the folder";
    }
    unlink(path.c_str());
    return nullptr;
}

const char *storage_backend::fill_to(int64_t bytes) {
    constexpr int64_t chunk_bytes = 1048576;
    struct statvfs space = {};
    if (fstatvfs(file_, &space) == 0 &&
        static_cast<double>(space.f_bavail) * static_cast<double>(space.f_frsize) <
            static_cast<double>(bytes - filled_bytes_)) {
        return not_enough_memory;
    }
    void *chunk = allocate(chunk_bytes);
    if (chunk == nullptr) {
        return not_enough_memory;
    }
    memset(chunk, 0x5a, chunk_bytes);
    const char *error = nullptr;
    while (filled_bytes_ < bytes && error == nullptr) {
        if (pwrite(file_, chunk, chunk_bytes, filled_bytes_) != chunk_bytes) {
            error = "the file in the folder cannot be filled";
        }
        filled_bytes_ += chunk_bytes;
    }
    release(chunk);
    return error;
}

int storage_backend::file_of(int64_t bytes) {
    const char *error = file_ < 0 ? make_file() : nullptr;
    if (error == nullptr && filled_bytes_ < bytes) {
        error = fill_to(bytes);
    }
    if (error != nullptr) {
        note_trouble(error);
        return -1;
    }
    return file_;
}

std::unique_ptr<backend> open_storage(const std::string &folder, std::string *error) {
    struct stat status = {};
    if (stat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
        *error = "there is no folder '" + folder + "'";
        return nullptr;
    }
    identity who;
    who.device = disk_name(status.st_dev);
    who.driver = system_name();
    who.toolkit = compiler_name();
    return std::make_unique<storage_backend>(who, folder);
}

} // namespace kref::bench
