use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;

use super::Record;

/// What became of the registrations of one application: those that live, and the one made last.
#[derive(Debug, Default)]
pub(crate) struct Records {
    all: Mutex<Vec<watch::Receiver<Record>>>,
}

impl Records {
    pub(crate) fn add(&self, record: watch::Receiver<Record>) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody changes the record of a registration that is over.
        all.retain(|record| record.has_changed().is_ok());
        all.push(record);
    }

    pub(crate) fn read(&self) -> Vec<Record> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let newest = all.pop();
        all.retain(|record| record.has_changed().is_ok());
        all.extend(newest);
        all.iter().map(|record| record.borrow().clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Off, RegistrationState};
    use super::*;

    #[test]
    fn only_the_newest_outlives_its_registration() {
        let records = Records::default();
        let record = || watch::channel(Record::new(RegistrationState::Off(Off::Disabled), None));
        let (one, first) = record();
        let (two, second) = record();
        records.add(first);
        records.add(second);
        assert_eq!(records.read().len(), 2);
        drop((one, two));
        assert_eq!(records.read().len(), 1);
        records.add(record().1);
        assert_eq!(records.all.lock().unwrap().len(), 1, "what is over is dropped");
    }
}
