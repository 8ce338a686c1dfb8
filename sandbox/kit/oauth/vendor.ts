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

/** What a person agreed to, or an administrator for flows without a person. */
export interface Grant {
  /** undefined: nobody's, the application's own. */
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
  /** Before the paths of the login: the address of a tenant, or nothing. */
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
  /** All that was asked, for what only one vendor knows. */
  query: URLSearchParams;
}

/** What is asked of the token endpoint. */
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

/** What becomes of refresh tokens. */
export interface RefreshRules {
  /**
   * With a refresh the token is `kept` and not told again; kept and `repeated` in each answer; another is `added` and the old one stays
   * good; or it is `replaced` and the old one is dead at once.
   */
  rotation: 'kept' | 'repeated' | 'added' | 'replaced';
  /** It dies when it isn't used for so long. */
  idleMs?: number | undefined;
  /** It dies so long after it was given, when it is replaced: after the login. */
  lifetimeMs?: number | undefined;
  /** One more of an account and client ends the oldest: that token alone, or its grant with all access tokens. */
  most?: { count: number; ends: 'token' | 'grant' };
}

/** Lives and looks of tokens. */
export interface TokenRules<G extends Grant> {
  now(): number;
  access: TokenForm & {
    lifetimeMs(): number;
    /** Each use begins the life anew. */
    isProlonged?: boolean;
  };
  refresh: TokenForm & { rules(grant: G): RefreshRules };
}

/** The login page, and what it makes of an answer. */
export interface LoginRules<C extends Client, G extends Grant> {
  /** Patterns of paths; the answer's is taken below {@link Place.base}. */
  paths: { prefix: string; authorize: string; answer: string };
  code: TokenForm & { lifetimeMs: number };
  /** Besides its registered addresses: any port and path of loopback by plain http (RFC 8252 section 7.3). */
  allowsLoopback(client: C): boolean;
  needsChallenge(client: C): boolean;
  /** A challenge without a method counts as S256. */
  assumesS256?: boolean;
  /** The scopes that are asked for; undefined when one is unknown. May throw OAuthError. */
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
    /** Scopes that a person can take away; default: none. */
    canUntick?(scope: string): boolean;
  };
  /** The person agrees, with the scopes that stayed ticked; undefined counts as refused. */
  agree(request: PendingRequest<C>, account: string, ticked: readonly string[]): G | undefined;
  /** What the client is told when the person refuses. */
  denied: Record<string, string>;
}

/** Logins on devices without a browser (RFC 8628). */
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
  /** Where one is told with this answer. */
  refreshToken: string | undefined;
  /** In whole seconds; undefined where the refresh token has no end, or there is none. */
  refreshExpiresIn: number | undefined;
  idToken: string | undefined;
  place: Place;
}

/**
 * One vendor's OAuth, as data, with a function where data can't say it. What may change while the server runs is read when it is needed. A
 * kind of grant exists where its function does.
 */
export interface OAuthVendor<C extends Client, G extends Grant> extends TokenRules<G> {
  clients: readonly C[];
  words: VendorWords;
  /** The description as clients read it; default: as it is. */
  describe?(words: Words): string;
  errorBody(words: Words): object;
  /** Throws OAuthError for an address that isn't the server's. */
  place(request: FastifyRequest): Place;
  login: LoginRules<C, G>;
  device?: DeviceRules<C, G>;
  /** How clients prove who they are. */
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
  /** Looks at every grant before tokens are given for it, and may add to it what the access token needs. Throws OAuthError. */
  admit?(grant: G, request: TokenRequest, pending: PendingRequest<C> | undefined): G;
  /** The vendor's claims of an id token, beside issuer, audience, nonce and times. */
  idClaims?(grant: G): object;
  answer(issued: Issued<G>): object;
}
