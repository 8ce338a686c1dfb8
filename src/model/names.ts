/** Names that people choose: tenants, connections, targets, clients. They become parts of Redis keys and metric labels. */
export const NAME = /^[a-z0-9][a-z0-9-]{0,40}$/;

/** What to do about a name that does not match {@link NAME}. */
export const NAME_REMEDY = 'use lower-case letters, digits and hyphens, at most 41, not beginning with a hyphen';
