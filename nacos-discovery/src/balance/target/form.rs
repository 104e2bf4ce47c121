use http::Uri;
use http::uri::Scheme;

/// What the scheme of a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::balance) enum Form {
    /// Whatever the instance speaks: `lb`, or no scheme.
    Any,
    Http,
    Https,
    Ws,
    Wss,
}

impl Form {
    /// `None` for a scheme that cannot be spoken with an instance.
    #[inline]
    pub(in crate::balance) fn of(uri: &Uri) -> Option<Self> {
        const FORMS: [(&str, Form); 5] =
            [("lb", Form::Any), ("http", Form::Http), ("https", Form::Https), ("ws", Form::Ws), ("wss", Form::Wss)];
        let Some(scheme) = uri.scheme_str() else { return Some(Self::Any) };
        FORMS.into_iter().find(|(name, _)| scheme.eq_ignore_ascii_case(name)).map(|(_, form)| form)
    }

    /// Whether it must not go to an instance without TLS.
    pub(in crate::balance) const fn needs_tls(self) -> bool {
        matches!(self, Self::Https | Self::Wss)
    }

    /// The scheme to speak with an instance whose own is `http` or `https`: an instance with TLS turns `http` into `https`
    /// and `ws` into `wss`.
    #[inline]
    pub(in crate::balance) fn scheme(self, of_instance: &Scheme) -> Scheme {
        if !matches!(self, Self::Ws | Self::Wss) {
            return of_instance.clone();
        }
        let name = if *of_instance == Scheme::HTTPS { "wss" } else { "ws" };
        name.parse().expect("two schemes of letters only")
    }

    /// The scheme that it asks for, as text: that of the instance if it asks for none.
    pub(in crate::balance) fn asked(self, of_instance: &Scheme) -> &'static str {
        match self {
            Self::Any if *of_instance == Scheme::HTTPS => "https",
            Self::Any | Self::Http => "http",
            Self::Https => "https",
            Self::Ws => "ws",
            Self::Wss => "wss",
        }
    }
}
