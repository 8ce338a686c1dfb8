import type { Grant as AnyGrant } from '../kit/oauth/vendor.ts';
import type { OAuthClient } from './options.ts';

/** What a person agreed to, or a service account was given. Scopes in their long form. */
export interface Grant extends AnyGrant {
  account: string;
  client: Pick<OAuthClient, 'clientId' | 'project'>;
  serviceAccount?: string;
}
