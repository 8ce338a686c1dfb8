// biome-ignore lint/correctness/noUnresolvedImports: the linter looks for the types that this package does not bring
import Provider, { errors } from 'oidc-provider';

// biome-ignore lint/correctness/noUnresolvedImports: the same
export type { Adapter, AdapterPayload, InteractionDetails, OidcContext } from 'oidc-provider';
export { errors, Provider };
