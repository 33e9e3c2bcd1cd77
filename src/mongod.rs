//! (mongod)
