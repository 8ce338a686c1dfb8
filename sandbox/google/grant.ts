import type { Grant as AnyGrant } from '../kit/oauth/vendor.ts';
import type { OAuthClient } from './options.ts';

/** A user's consent, or a service account's permissions. Scopes in their long form. */
export interface Grant extends AnyGrant {
  account: string;
  client: Pick<OAuthClient, 'clientId' | 'project'>;
  serviceAccount?: string;
}
