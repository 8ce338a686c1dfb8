/** The part of oidc-provider 9 that the sandbox uses; the package brings no types of its own. */
// biome-ignore lint/correctness/noUnresolvedImports: this file is what the linter looks for
declare module 'oidc-provider' {
  import type { EventEmitter } from 'node:events';
  import type { IncomingMessage, ServerResponse } from 'node:http';

  /** Payload of a stored artefact; the fields depend on the model. */
  export interface AdapterPayload {
    [field: string]: unknown;
    jti?: string;
    kind?: string;
    uid?: string;
    userCode?: string;
    grantId?: string;
    accountId?: string;
    clientId?: string;
    scope?: string;
    /** Epoch seconds. */
    exp?: number;
    /** Epoch seconds, once used up. */
    consumed?: unknown;
  }

  export interface Adapter {
    upsert(id: string, payload: AdapterPayload, expiresInSeconds?: number): Promise<void>;
    find(id: string): Promise<AdapterPayload | undefined>;
    findByUserCode(userCode: string): Promise<AdapterPayload | undefined>;
    findByUid(uid: string): Promise<AdapterPayload | undefined>;
    consume(id: string): Promise<void>;
    destroy(id: string): Promise<void>;
    revokeByGrantId(grantId: string): Promise<void>;
  }

  export interface InteractionDetails {
    uid: string;
    prompt: { name: string };
    params: { client_id: string; scope?: string };
    session?: { accountId: string };
  }

  export interface InteractionResult {
    login?: { accountId: string };
    consent?: { grantId: string };
    error?: string;
    error_description?: string;
  }

  export interface Grant {
    addOIDCScope(scope: string): void;
    rejectOIDCScope(scope: string): void;
    save(): Promise<string>;
  }

  /** The Koa context that events, hooks and page sources receive. */
  export interface OidcContext {
    body: unknown;
    type: string;
    oidc: {
      params?: Record<string, string | undefined>;
      result?: { consent?: { grantId?: string } };
      provider: Provider;
      client?: { clientId: string };
      entities: {
        AccessToken?: { accountId: string; clientId: string; grantId: string };
        RefreshToken?: { jti: string };
        RotatedRefreshToken?: { jti: string };
      };
    };
  }

  export const errors: { InvalidScope: new (description: string, scope: string) => Error };

  export default class Provider {
    constructor(issuer: string, configuration: Record<string, unknown>);
    readonly Grant: {
      new (properties: { accountId: string; clientId: string }): Grant;
      find(id: string): Promise<Grant | undefined>;
    };
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>;
    on(event: string, listener: (context: OidcContext, ...rest: unknown[]) => void): EventEmitter;
    interactionDetails(request: IncomingMessage, response: ServerResponse): Promise<InteractionDetails>;
    interactionFinished(
      request: IncomingMessage,
      response: ServerResponse,
      result: InteractionResult,
      options?: { mergeWithLastSubmission?: boolean },
    ): Promise<void>;
  }
}
