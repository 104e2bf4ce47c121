/// A list that is rarely longer than one: its first item needs no memory of its own.
#[derive(Debug, Default)]
pub(super) enum Few<T> {
    #[default]
    None,
    One(T),
    Several(Vec<T>),
}

impl<T> Few<T> {
    pub(super) fn push(&mut self, item: T) {
        *self = match std::mem::take(self) {
            Self::None => Self::One(item),
            Self::One(first) => Self::Several(vec![first, item]),
            Self::Several(mut items) => {
                items.push(item);
                Self::Several(items)
            }
        };
    }

    pub(super) fn as_slice(&self) -> &[T] {
        match self {
            Self::None => &[],
            Self::One(item) => std::slice::from_ref(item),
            Self::Several(items) => items,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_stay_in_order() {
        let mut few = Few::default();
        for count in 0..5 {
            assert_eq!(few.as_slice(), (0..count).collect::<Vec<_>>());
            few.push(count);
        }
    }
}
