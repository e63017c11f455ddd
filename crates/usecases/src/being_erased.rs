//! The users whose data is being deleted, in this process or another one.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use parking_lot::{Mutex, MutexGuard};

use recall_domain::UserId;

/// The users whose data is being deleted, so that nobody sees partial data.
#[derive(Default)]
pub(super) struct BeingErased {
    /// Users whose deletion runs in this process, with the number of running calls.
    here: Mutex<HashMap<UserId, usize>>,
    elsewhere: Mutex<HashSet<UserId>>,
}

impl BeingErased {
    /// Whether the data of a user is being deleted.
    pub(super) fn contains(&self, user: UserId) -> bool {
        lock(&self.here).contains_key(&user) || lock(&self.elsewhere).contains(&user)
    }

    /// Sets the users whose deletion was begun by other processes.
    pub(super) fn set_elsewhere(&self, users: HashSet<UserId>) {
        *lock(&self.elsewhere) = users;
    }

    /// Forgets the deletion of another process, which has ended.
    pub(super) fn has_ended(&self, user: UserId) {
        lock(&self.elsewhere).remove(&user);
    }

    /// Marks a deletion that runs in this process, until the returned guard is dropped.
    pub(super) fn mark(self: &Arc<Self>, user: UserId) -> Mark {
        *lock(&self.here).entry(user).or_default() += 1;
        Mark { erased: self.clone(), user }
    }
}

/// A deletion that runs in this process.
pub(super) struct Mark {
    erased: Arc<BeingErased>,
    user: UserId,
}

impl Drop for Mark {
    fn drop(&mut self) {
        let mut here = lock(&self.erased.here);
        if let Some(count) = here.get_mut(&self.user) {
            *count -= 1;
            if *count == 0 {
                here.remove(&self.user);
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}
