// What a Store holds. For this room only.
#ifndef CAPBENCH_SCHEMA_STORE_STATE_H_
#define CAPBENCH_SCHEMA_STORE_STATE_H_

#include "schema/connection.h"
#include "schema/store.h"

namespace capbench::schema {

struct Store::State {
  Connection connection;
};

}  // namespace capbench::schema

#endif  // CAPBENCH_SCHEMA_STORE_STATE_H_
