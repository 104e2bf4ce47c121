use std::ffi::OsString;
use std::fmt;
use std::path::Path;

use super::bind::bind;
use super::read::{Note, Reader};
use super::source::{Format, Layer, Property, PropertyName, Variables, read};
use super::{DiscoveryConfig, DiscoveryConfigError, Place};

/// Lays sources of settings over one another; [`DiscoveryConfigBuilder::build`] reads and validates them.
///
/// A source added later counts more than one added before, and what the code sets counts most, whenever it is set.
/// Spring's order is that of [`DiscoveryConfig::from_file`]: first the file, then the environment.
///
/// # Examples
///
/// ```
/// use nacos_discovery::DiscoveryConfig;
///
/// let config = DiscoveryConfig::builder()
///     .yaml_str("spring: {cloud: {nacos: {discovery: {server-addr: 'nacos:8848', weight: 2}}}}")?
///     .environment()
///     .service("orders")
///     .build()?;
/// assert_eq!((config.servers(), config.service()), ("nacos:8848", Some("orders")));
/// # Ok::<(), nacos_discovery::DiscoveryConfigError>(())
/// ```
#[derive(Default)]
pub struct DiscoveryConfigBuilder {
    layers: Vec<Layer>,
    code: Vec<Property>,
    notes: Vec<Note>,
}

impl DiscoveryConfigBuilder {
    /// Adds a file: `.yml`, `.yaml`, `.toml` or `.properties`.
    ///
    /// # Errors
    /// If it cannot be read or is not of its format.
    pub fn file(self, path: impl AsRef<Path>) -> Result<Self, DiscoveryConfigError> {
        let path = path.as_ref();
        let format = Format::of(path).ok_or_else(|| DiscoveryConfigError::Format { path: path.to_owned() })?;
        let failed = |source| DiscoveryConfigError::Read { path: path.to_owned(), source };
        let bytes = std::fs::read(path).map_err(failed)?;
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            // The encoding that files of this format had before.
            Err(e) if format == Format::Properties => e.into_bytes().into_iter().map(char::from).collect(),
            Err(e) => return Err(failed(std::io::Error::new(std::io::ErrorKind::InvalidData, e.utf8_error()))),
        };
        self.text(format, &path.display().to_string(), &text)
    }

    /// Adds a YAML text, of one or more documents. Plain words are what they are to Spring: `1.10` is the number 1.1, `yes`
    /// is `true`. Quote what is a text.
    ///
    /// # Errors
    /// If it is no YAML, or not blocks of keys and values.
    pub fn yaml_str(self, text: &str) -> Result<Self, DiscoveryConfigError> {
        self.text(Format::Yaml, Format::Yaml.name(), text)
    }

    /// Adds a TOML text.
    ///
    /// # Errors
    /// If it is no TOML.
    pub fn toml_str(self, text: &str) -> Result<Self, DiscoveryConfigError> {
        self.text(Format::Toml, Format::Toml.name(), text)
    }

    /// Adds a text in Java's properties format.
    ///
    /// # Errors
    /// If it has an escape that cannot be read.
    pub fn properties_str(self, text: &str) -> Result<Self, DiscoveryConfigError> {
        self.text(Format::Properties, Format::Properties.name(), text)
    }

    /// Adds the environment of the process, as it is now. Placeholders in other sources find variables only if this, or
    /// [`DiscoveryConfigBuilder::variables`], is called.
    #[must_use]
    pub fn environment(mut self) -> Self {
        self.layers.push(Layer::Variables(Variables::of_process()));
        self
    }

    /// Adds these variables as if they were the environment.
    #[must_use]
    pub fn variables<N: Into<OsString>, V: Into<OsString>>(
        mut self,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        self.layers.push(Layer::Variables(Variables::new(variables)));
        self
    }

    /// Sets a property by its whole name, such as `spring.cloud.nacos.discovery.weight`.
    #[must_use]
    pub fn property(mut self, name: &str, value: impl Into<String>) -> Self {
        self.set(PropertyName::parse(name), value.into());
        self
    }

    /// Sets one entry of the metadata.
    #[must_use]
    pub fn metadata(mut self, key: &str, value: impl Into<String>) -> Self {
        self.set(PropertyName::parse("spring.cloud.nacos.discovery.metadata").entry(key), value.into());
        self
    }

    /// Reads and validates the settings, and logs what is worth a word: keys without effect, documents left out.
    ///
    /// # Errors
    /// The first problem found, with its place.
    pub fn build(self) -> Result<DiscoveryConfig, DiscoveryConfigError> {
        let (config, notes) = self.read()?;
        notes.iter().for_each(Note::log);
        Ok(config)
    }

    pub(super) fn read(self) -> Result<(DiscoveryConfig, Vec<Note>), DiscoveryConfigError> {
        let mut layers = self.layers;
        layers.push(Layer::Code(self.code));
        let mut reader = Reader::new(&layers, self.notes);
        let config = bind(&mut reader)?;
        Ok((config, reader.notes))
    }

    fn text(mut self, format: Format, source: &str, text: &str) -> Result<Self, DiscoveryConfigError> {
        self.layers.push(Layer::Text(read(format, source, text, &mut self.notes)?));
        Ok(self)
    }

    fn set(&mut self, name: PropertyName, text: String) {
        self.code.push(Property { name, text, place: Place::Code });
    }
}

/// Setters for the settings that code sets most.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $suffix:literal;)*) => {
        impl DiscoveryConfigBuilder {
            $(
                $(#[$doc])*
                #[must_use]
                pub fn $name(self, value: $type) -> Self {
                    self.property(concat!("spring.cloud.nacos.discovery.", $suffix), value.to_string())
                }
            )*
        }
    };
}

setters! {
    /// Sets the servers, split by `,`.
    server_addr: &str = "server-addr";
    /// Sets the namespace id.
    namespace: &str = "namespace";
    /// Sets the group.
    group: &str = "group";
    /// Sets the name to register.
    service: &str = "service";
    /// Sets the cluster.
    cluster: &str = "cluster-name";
    /// Sets the weight, 0 to 10000.
    weight: f64 = "weight";
    /// Sets the address or host name to register.
    ip: &str = "ip";
    /// Sets the port to register.
    port: u16 = "port";
    /// Sets whether the instance lives only as long as this process.
    ephemeral: bool = "ephemeral";
    /// Sets whether a failed registration is an error of the start.
    fail_fast: bool = "fail-fast";
}

/// Without any value: there may be secrets among them.
impl fmt::Debug for DiscoveryConfigBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiscoveryConfigBuilder").field("layers", &self.layers.len()).finish_non_exhaustive()
    }
}

impl DiscoveryConfig {
    /// A builder without any source.
    #[must_use]
    pub fn builder() -> DiscoveryConfigBuilder {
        DiscoveryConfigBuilder::default()
    }

    /// The settings of a file, overridden by the environment.
    ///
    /// # Errors
    /// The first problem found, with its place.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, DiscoveryConfigError> {
        Self::builder().file(path)?.environment().build()
    }

    /// The settings of a YAML text, overridden by the environment.
    ///
    /// # Errors
    /// The first problem found, with its place.
    pub fn from_yaml_str(text: &str) -> Result<Self, DiscoveryConfigError> {
        Self::builder().yaml_str(text)?.environment().build()
    }

    /// The settings of a TOML text, overridden by the environment.
    ///
    /// # Errors
    /// The first problem found, with its place.
    pub fn from_toml_str(text: &str) -> Result<Self, DiscoveryConfigError> {
        Self::builder().toml_str(text)?.environment().build()
    }

    /// The settings of a text in Java's properties format, overridden by the environment.
    ///
    /// # Errors
    /// The first problem found, with its place.
    pub fn from_properties_str(text: &str) -> Result<Self, DiscoveryConfigError> {
        Self::builder().properties_str(text)?.environment().build()
    }

    /// The settings of the environment alone.
    ///
    /// # Errors
    /// The first problem found, with its variable.
    pub fn from_env() -> Result<Self, DiscoveryConfigError> {
        Self::builder().environment().build()
    }
}
