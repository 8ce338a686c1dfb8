import type { Account } from '../model/credentials.ts';
import { parseJson } from '../model/json.ts';
import type { Provider } from './providers.ts';
import type { Names } from './token-answer.ts';

/** Claims of an id_token or of a userinfo answer. */
export type Claims = Readonly<Record<string, unknown>>;

/**
 * One word, of the length that an address may have.
 * @see RFC 5321 section 4.5.3.1
 */
const SHOWN = /^[^\s\p{C}]{1,320}$/u;
/** Directory of Microsoft's personal accounts: no organisation. */
const PERSONAL_DIRECTORY = '9188040d-6c67-4c5b-b112-36a304b66dad';

/**
 * Whom claims name, by what each vendor vouches for; null when they have no subject.
 *
 * - Google: an address counts once verified, a domain as `hd` alone: anybody may open an account under an address of a foreign domain.
 * - Microsoft: `oid` is the user in every application, where `sub` is another in each. `email` is what a directory's administrator wrote,
 *   so the user name counts, whose domain the directory has proved.
 * - Salesforce: user names are one of a kind over all organisations, and end as their owner likes.
 * @see https://developers.google.com/identity/openid-connect/openid-connect#an-id-tokens-payload
 * @see https://learn.microsoft.com/entra/identity-platform/id-token-claims-reference
 */
export function accountOfClaims(provider: Pick<Provider, 'name'>, claims: Claims): Account | null {
  const sub = textOf(claims.sub);
  switch (provider.name) {
    case 'google':
      return accountOf(sub, claims.email_verified === true ? textOf(claims.email) : null, textOf(claims.hd));
    case 'microsoft': {
      const address = textOf(claims.preferred_username);
      return accountOf(
        textOf(claims.oid) ?? sub,
        address,
        claims.tid === PERSONAL_DIRECTORY ? null : domainOf(address),
      );
    }
    case 'salesforce':
      return accountOf(textOf(claims.user_id), textOf(claims.preferred_username));
    default:
      return accountOf(sub, claims.email_verified === true ? textOf(claims.email) : null);
  }
}

/** Whom the members of a token answer name; null when they name nobody. An id_token that is another client's names nobody here. */
export function accountOfNames(provider: Pick<Provider, 'name' | 'clientId'>, names: Names): Account | null {
  if (provider.name === 'hubspot') return accountOf(textOf(names.hubId));
  if (provider.name === 'salesforce') return accountOf(textOf(names.identityUrl?.split('/').at(-1)));
  const claims = names.idToken === null || provider.name === 'oauth' ? null : unvalidatedClaims(names.idToken);
  if (claims === null || ![claims.aud].flat().includes(provider.clientId)) return null;
  return accountOfClaims(provider, claims);
}

/**
 * What HubSpot's introspection tells.
 * @see https://developers.hubspot.com/docs/api-reference/latest/authentication/oauth-tokens/token-introspect
 */
export function accountOfHub(answer: Claims): Account | null {
  const { hub_id: hubId } = answer;
  return accountOf(typeof hubId === 'number' ? String(hubId) : textOf(hubId), textOf(answer.user));
}

/** The claims of an id_token as they came; null when it is none. */
export function unvalidatedClaims(idToken: string): Claims | null {
  const claims = parseJson(Buffer.from(idToken.split('.')[1] ?? '', 'base64url'));
  return typeof claims === 'object' && claims !== null && !Array.isArray(claims) ? (claims as Claims) : null;
}

function accountOf(subject: string | null, address: string | null = null, domain: string | null = null) {
  return subject === null ? null : { subject, address, domain };
}

/** What is shown at a terminal holds no control characters, and none that turn the direction of a text. */
function textOf(value: unknown): string | null {
  return typeof value === 'string' && SHOWN.test(value) ? value : null;
}

function domainOf(address: string | null): string | null {
  return address?.split('@')[1] ?? null;
}
