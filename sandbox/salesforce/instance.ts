import { createServer, type RequestListener } from 'node:http';
import { listenNode, type RunningServer } from '../kit/listen.ts';

/** Answer of the old API host after a move: invalid session, redirect, or no answer. */
export type OldInstance = 'unauthorized' | 'redirect' | 'closed';

/** Host of the org's API. A move does not change the URLs of the OAuth server. */
export class Instance {
  readonly #listener: RequestListener;
  readonly #servers: RunningServer[] = [];
  #current: RunningServer | undefined;
  #old: OldInstance = 'unauthorized';

  /** @param listener handles all requests of the sandbox */
  constructor(listener: RequestListener) {
    this.#listener = listener;
  }

  /** URL after a move. Undefined before the first move: the client then uses the URL at which the sandbox was reached. */
  get url(): string | undefined {
    return this.#current?.url;
  }

  /** Moves the org's API to a new URL and returns the URL. */
  async move(old: OldInstance): Promise<string> {
    const server = await listenNode(createServer(this.#listener));
    this.#servers.push(server);
    this.#current = server;
    this.#old = old;
    return server.url;
  }

  /** Returns the behaviour for an API request at this port; undefined if the org's API is there now. */
  metAt(port: number | undefined): OldInstance | undefined {
    return this.#current === undefined || this.#current.port === port ? undefined : this.#old;
  }

  async close(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.close()));
  }
}
