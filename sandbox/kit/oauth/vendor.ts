import type { FastifyRequest } from 'fastify';
import type { ReadJwt } from './jwt.ts';
import type { VendorWords, Words } from './words.ts';

/** A registered application. */
export interface Client {
  clientId: string;
  /** A public one has none. */
  clientSecret: string | undefined;
  /** Matched exactly. */
  redirectUris: readonly string[];
}

/** The rights that a user consented to, or an administrator in flows without a user. */
export interface Grant {
  /** undefined: the application itself, without a user. */
  account: string | undefined;
  client: Pick<Client, 'clientId'>;
  scopes: readonly string[];
  /** A refresh token comes with it. */
  isLasting: boolean;
}

/** Where a client found the server. */
export interface Place {
  origin: string;
  issuer: string;
  /** Path before the paths of the sign-in: a tenant's path, or empty. */
  base: string;
}

/** A checked authorization request that waits for the person's answer. */
export interface PendingRequest<C extends Client> {
  id: string;
  client: C;
  redirectUri: string;
  scopes: string[];
  state: string | undefined;
  codeChallenge: string | undefined;
  /** The full query, for parameters that only one vendor uses. */
  query: URLSearchParams;
}

/** A request to the token endpoint. */
export interface TokenRequest {
  form: URLSearchParams;
  /** The header of that name. */
  authorization: string | undefined;
  place: Place;
}

/** How a token looks: a prefix and chance, of so many bytes or as a UUID. */
export interface TokenForm {
  prefix: string;
  chance: number | 'uuid';
}

/** Rotation, lifetime and number of refresh tokens. */
export interface RefreshRules {
  /**
   * With a refresh the token is `kept` and not told again; kept and `repeated` in each answer; another is `added` and the old one stays
   * good; or it is `replaced` and the old one is dead at once.
   */
  rotation: 'kept' | 'repeated' | 'added' | 'replaced';
  /** The token expires if it is not used for this long. */
  idleMs?: number | undefined;
  /** The token expires this long after issue. With rotation `replaced`: this long after the sign-in. */
  lifetimeMs?: number | undefined;
  /** A token above this number per account and client revokes the oldest: only that token, or its grant with all access tokens. */
  most?: { count: number; ends: 'token' | 'grant' };
}

/** Lifetime and format of tokens. */
export interface TokenRules<G extends Grant> {
  now(): number;
  access: TokenForm & {
    lifetimeMs(): number;
    /** Each use restarts the lifetime. */
    isProlonged?: boolean;
  };
  refresh: TokenForm & { rules(grant: G): RefreshRules };
}

/** The sign-in page, and the handling of its answer. */
export interface LoginRules<C extends Client, G extends Grant> {
  /** Patterns of paths; the answer's is taken below {@link Place.base}. */
  paths: { prefix: string; authorize: string; answer: string };
  code: TokenForm & { lifetimeMs: number };
  /** Accepts any port and path of loopback over plain http (RFC 8252 section 7.3), in addition to the registered URLs. */
  allowsLoopback(client: C): boolean;
  needsChallenge(client: C): boolean;
  /** Treats a challenge without a method as S256. */
  assumesS256?: boolean;
  /** Returns the requested scopes; undefined when a scope is unknown. May throw OAuthError. */
  scopesOf(query: URLSearchParams, client: C): string[] | undefined;
  /** Says `iss` in answers (RFC 9207). */
  tellsIssuer?: boolean;
  /** Refusals are shown to the person in this sentence, and none goes back to the client. */
  errorPage?(words: Words): string;
  page: {
    heading(clientId: string): string;
    /** On the button that agrees. */
    allow: string;
    people(): string[];
    /** Scopes that a user can untick; default: none. */
    canUntick?(scope: string): boolean;
  };
  /** Makes the grant of the scopes that stayed ticked; undefined means that the user refused. */
  agree(request: PendingRequest<C>, account: string, ticked: readonly string[]): G | undefined;
  /** Parameters of the answer to the client when the user refuses. */
  denied: Record<string, string>;
}

/** Sign-ins on devices without a browser (RFC 8628). */
export interface DeviceRules<C extends Client, G extends Grant> {
  code: TokenForm;
  lifetimeMs(): number;
  grant(account: string, client: C, scopes: string[]): G;
}

/** All that a token answer can tell. */
export interface Issued<G extends Grant> {
  /** With the scopes of this access token. */
  grant: G;
  accessToken: string;
  /** In whole seconds. */
  expiresIn: number;
  /** Set if this answer contains a refresh token. */
  refreshToken: string | undefined;
  /** In whole seconds; undefined where the refresh token has no end, or there is none. */
  refreshExpiresIn: number | undefined;
  idToken: string | undefined;
  place: Place;
}

/**
 * One vendor's OAuth, as data where possible and as functions otherwise. Values that can change while the server runs are read on each use.
 * A grant type is supported if its function exists.
 */
export interface OAuthVendor<C extends Client, G extends Grant> extends TokenRules<G> {
  clients: readonly C[];
  words: VendorWords;
  /** Returns the description that clients read; default: the unchanged description. */
  describe?(words: Words): string;
  errorBody(words: Words): object;
  /** Throws OAuthError for a URL outside the server. */
  place(request: FastifyRequest): Place;
  login: LoginRules<C, G>;
  device?: DeviceRules<C, G>;
  /** Methods of client authentication. */
  clientBy: readonly ('form' | 'basic')[];
  /** Client assertions (RFC 7523 section 2.2) of clients that may use them. Throws OAuthError. */
  clientAssertion?: {
    isFor(client: C): boolean;
    check(client: C, jwt: ReadJwt | undefined, request: TokenRequest): void;
  };
  /** What a JWT bearer assertion is worth (RFC 7523 section 2.1). Throws OAuthError. */
  assertedGrant?(assertion: string, place: Place): G;
  /** What a client gets for itself. Throws OAuthError. */
  clientGrant?(client: C, form: URLSearchParams): G;
  /** Scopes of a refresh or a device; undefined when one is unknown. */
  parseScopes?(text: string): string[] | undefined;
  /** Checks every grant before tokens are issued, and may add data that the access token requires. Throws OAuthError. */
  admit?(grant: G, request: TokenRequest, pending: PendingRequest<C> | undefined): G;
  /** The vendor's claims of an id token, in addition to issuer, audience, nonce and times. */
  idClaims?(grant: G): object;
  answer(issued: Issued<G>): object;
}
