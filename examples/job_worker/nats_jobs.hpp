// examples/job_worker/nats_jobs.hpp -- jobs of a fleet, in a stream of NATS JetStream.
// SPDX-License-Identifier: MIT
#pragma once
#include <nats/nats.h>

#include <coracle/channels/unbounded_channel.hpp>
#include <coracle/compose/from_callback.hpp>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

#include "jobs.hpp"

/// Throws std::runtime_error if a call of NATS's has failed.
inline void require(natsStatus status, const char* what) {
  if (status != NATS_OK)
    throw std::runtime_error(std::string{"nats: "} + what + ": " + natsStatus_GetText(status));
}

template <auto destroy>
struct nats_destroy {
  template <class T>
  void operator()(T* owned) const noexcept {
    destroy(owned);
  }
};
template <class T, auto destroy>
using nats_owned = std::unique_ptr<T, nats_destroy<destroy>>;

/// A connection. It reconnects by itself when the server is back.
class nats_jobs final : public job_queue {
 public:
  /// A job that a worker has had for so long without still_working() is given to another.
  static constexpr std::chrono::seconds patience{2};
  /// A job that has failed so often is not tried again.
  static constexpr int most_attempts = 5;

  explicit nats_jobs(const char* url) {
    natsOptions* made = nullptr;
    require(natsOptions_Create(&made), "options");
    const nats_owned<natsOptions, natsOptions_Destroy> options{made};
    require(natsOptions_SetURL(made, url), "url");
    natsOptions_SetMaxReconnect(made, -1);
    natsOptions_SetReconnectWait(made, 100);
    natsOptions_SetClosedCB(made, &closed, this);
    natsConnection* connection = nullptr;
    require(natsConnection_Connect(&connection, made), "connect");
    connection_.reset(connection);
    jsCtx* context = nullptr;
    require(natsConnection_JetStream(&context, connection, nullptr), "jetstream");
    context_.reset(context);
    make_stream();
  }

  /// Adds a job, which is in the server's files when this returns. An id added again within two minutes is
  /// ignored.
  void add(const job& added) {
    jsPubOptions options;
    jsPubOptions_Init(&options);
    options.MsgId = added.id.c_str();
    const std::string subject = "jobs." + added.id;
    require(js_Publish(nullptr, context_.get(), subject.c_str(), added.text.data(),
                       static_cast<int>(added.text.size()), &options, nullptr),
            "publish");
  }

  /// Starts receiving jobs. At most `limit` of them are unfinished here or on their way, so the jobs that
  /// wait here are bounded.
  void subscribe(int limit) {
    jsSubOptions options;
    jsSubOptions_Init(&options);
    options.Queue = "workers";  // each job to one of them
    options.ManualAck = true;
    options.Config.Durable = "workers";
    options.Config.AckWait = std::chrono::nanoseconds{patience}.count();
    options.Config.MaxDeliver = most_attempts;
    options.Config.MaxAckPending = 3 * limit;  // of all workers
    natsSubscription* made = nullptr;
    require(js_Subscribe(&made, context_.get(), "jobs.*", &arrived, this, nullptr, &options, nullptr),
            "subscribe");
    subscription_.reset(made);
  }

  /// Takes no more jobs; those that have arrived are still handled.
  void take_no_more() {
    natsSubscription_Drain(subscription_.get());
    arrived_.close();
  }

  /// Ends when everything that this process had to say has been sent, and the connection is closed.
  coracle::task<> close() {
    const auto drain = [this](coracle::completion<void> is_closed) {
      {
        const std::lock_guard lock{closing_};
        is_closed_.emplace(std::move(is_closed));
      }
      if (natsConnection_Drain(connection_.get()) != NATS_OK) natsConnection_Close(connection_.get());
    };
    co_await coracle::from_callback<void>(drain);
  }

  coracle::task<std::unique_ptr<delivery>> next() override {
    auto received = co_await arrived_.recv();
    if (!received) co_return nullptr;
    co_return std::move(*received);
  }

 private:
  class nats_delivery final : public delivery {
   public:
    explicit nats_delivery(natsMsg* message) : message_(message) {
      mine_.id = std::string{natsMsg_GetSubject(message)}.substr(sizeof("jobs.") - 1);
      mine_.text.assign(natsMsg_GetData(message), static_cast<std::size_t>(natsMsg_GetDataLength(message)));
      jsMsgMetaData* data = nullptr;
      if (natsMsg_GetMetaData(&data, message) != NATS_OK) return;
      mine_.attempt = static_cast<int>(data->NumDelivered);
      jsMsgMetaData_Destroy(data);
    }
    const job& what() const override { return mine_; }
    // If one of these messages is lost, another worker gets the job: it is handled at least once.
    void done() override { natsMsg_Ack(message_.get(), nullptr); }
    /// Says nothing, so that after `patience` somebody tries again, unless it was the last attempt.
    void failed() override {
      if (mine_.attempt < most_attempts) return;
      std::printf("job %s is given up\n", mine_.id.c_str());
      natsMsg_Term(message_.get(), nullptr);
    }
    void still_working() override { natsMsg_InProgress(message_.get(), nullptr); }

   private:
    nats_owned<natsMsg, natsMsg_Destroy> message_;
    job mine_;
  };

  void make_stream() {
    jsStreamConfig stream;
    jsStreamConfig_Init(&stream);
    const char* subjects[] = {"jobs.*"};
    stream.Name = "JOBS";
    stream.Subjects = subjects;
    stream.SubjectsLen = 1;
    stream.Retention = js_WorkQueuePolicy;  // a job leaves the stream when it is done
    stream.Storage = js_FileStorage;
    require(js_AddStream(nullptr, context_.get(), &stream, nullptr, nullptr),
            "stream");  // or there is one already
  }

  // These are called on threads of NATS's.
  static void arrived(natsConnection*, natsSubscription*, natsMsg* message, void* self) {
    auto& mine = *static_cast<nats_jobs*>(self);
    try {
      mine.arrived_.send(std::make_unique<nats_delivery>(message));
    } catch (const std::exception& error) {  // closed, or no memory: another worker gets it
      std::printf("a job is left to others: %s\n", error.what());
    }
  }
  static void closed(natsConnection*, void* self) {
    auto& mine = *static_cast<nats_jobs*>(self);
    const std::lock_guard lock{mine.closing_};
    if (mine.is_closed_) std::exchange(mine.is_closed_, std::nullopt).value()();
  }

  coracle::unbounded_channel<std::unique_ptr<delivery>> arrived_;
  std::mutex closing_;
  std::optional<coracle::completion<void>> is_closed_;
  nats_owned<natsConnection, natsConnection_Destroy> connection_;
  nats_owned<jsCtx, jsCtx_Destroy> context_;
  nats_owned<natsSubscription, natsSubscription_Destroy> subscription_;
};
