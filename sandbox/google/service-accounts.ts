import { createHash } from 'node:crypto';
import { newSigningKey, readJwt, type SigningKey } from '../kit/oauth/jwt.ts';
import { OAuthError } from '../kit/oauth/words.ts';
import type { Grant } from './grant.ts';
import { DEFAULT_PROJECT, type Settings } from './options.ts';
import { longForm, parseScopes } from './scopes.ts';
import type { World } from './world.ts';

/** A service account's key file, in the vendor's format. */
export interface ServiceAccountKeyFile {
  type: 'service_account';
  project_id: string;
  private_key_id: string;
  /** PEM, PKCS #8. */
  private_key: string;
  client_email: string;
  client_id: string;
  auth_uri: string;
  token_uri: string;
}

/** Domain-wide delegation: the users and scopes that an administrator has allowed for the service account. */
export interface Delegation {
  subjects: string[] | 'all';
  scopes: string[];
}

interface ServiceAccount {
  email: string;
  key: SigningKey;
  delegation: Delegation | undefined;
}

/** An assertion may live for an hour (developers.google.com/identity/protocols/oauth2/service-account). */
const MAX_LIFETIME_S = 3600;
const SKEW_S = 300;

/** The registered service accounts and the JWT bearer grant (RFC 7523). */
export class ServiceAccounts {
  readonly #world: World;
  readonly #settings: Settings;
  readonly #accounts = new Map<string, ServiceAccount>();

  constructor(world: World, settings: Settings) {
    this.#world = world;
    this.#settings = settings;
  }

  /** Registers a service account and returns its key file. A later call for an existing email address makes a new key. */
  create(email: string, url: string, delegation?: Delegation): ServiceAccountKeyFile {
    const key = newSigningKey();
    this.#world.account(email, true);
    this.#accounts.set(email, { email, key, delegation });
    return {
      type: 'service_account',
      project_id: DEFAULT_PROJECT,
      private_key_id: key.keyId,
      private_key: key.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      client_email: email,
      client_id: clientIdOf(email),
      auth_uri: `${url}/o/oauth2/v2/auth`,
      token_uri: `${url}/token`,
    };
  }

  /** Replaces the delegation of a service account; undefined ends it. */
  delegate(email: string, delegation: Delegation | undefined): void {
    const account = this.#accounts.get(email);
    if (account) {
      account.delegation = delegation;
    }
  }

  /** What an assertion is worth. Throws OAuthError invalid_grant, invalid_scope or unauthorized_client. */
  grantOf(assertion: string, tokenUrl: string): Grant {
    const jwt = readJwt(assertion);
    const account = this.#accounts.get(String(jwt?.claims.iss));
    if (!jwt || !account) {
      throw invalidGrant('Invalid grant: account not found');
    }
    const wrongKey = jwt.header.kid !== undefined && jwt.header.kid !== account.key.keyId;
    if (wrongKey || !jwt.isSignedBy(account.key.publicKey)) {
      throw invalidGrant('Invalid JWT Signature.');
    }
    checkTimes(jwt.claims, this.#settings.now() / 1000);
    if (jwt.claims.aud !== tokenUrl) {
      throw invalidGrant('Invalid JWT: Failed audience check.');
    }
    const scopes = parseScopes(String(jwt.claims.scope ?? ''));
    if (!scopes) {
      const description = 'Invalid OAuth scope or ID token audience provided.';
      throw new OAuthError({ error: 'invalid_scope', description });
    }
    const client = { clientId: clientIdOf(account.email), project: DEFAULT_PROJECT };
    const subject = String(jwt.claims.sub ?? account.email);
    if (subject !== account.email) this.#checkDelegation(account, subject, scopes);
    return { account: subject, client, scopes, isLasting: false, serviceAccount: account.email };
  }

  #checkDelegation(account: ServiceAccount, subject: string, scopes: string[]): void {
    const { delegation } = account;
    const listed = delegation !== undefined && (delegation.subjects === 'all' || delegation.subjects.includes(subject));
    const allowed = new Set(delegation?.scopes.map(longForm));
    if (!listed || !scopes.every((scope) => allowed.has(scope))) {
      const description =
        'Client is unauthorized to retrieve access tokens using this method, or client not authorized for any of the scopes requested.';
      throw new OAuthError({ status: 401, error: 'unauthorized_client', description });
    }
    if (!this.#world.accounts.has(subject)) {
      throw invalidGrant('Invalid email or User ID');
    }
  }
}

function checkTimes(claims: Record<string, unknown>, nowS: number): void {
  const issuedAt = Number(claims.iat);
  const expiresAt = Number(claims.exp);
  const inTime = issuedAt <= nowS + SKEW_S && expiresAt > nowS - SKEW_S && expiresAt - issuedAt <= MAX_LIFETIME_S;
  if (!inTime) {
    throw invalidGrant(
      'Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. ' +
        'Check your iat and exp values in the JWT claim.',
    );
  }
}

function clientIdOf(email: string): string {
  return BigInt(`0x${createHash('sha256').update(email).digest('hex').slice(0, 16)}`).toString();
}

function invalidGrant(description: string): OAuthError {
  return new OAuthError({ error: 'invalid_grant', description });
}
