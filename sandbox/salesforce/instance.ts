import { createServer, type RequestListener } from 'node:http';
import { listenNode, type RunningServer } from '../kit/listen.ts';

/** How the place from which an org moved away answers its API: no session is good there, a redirect, or nothing at all. */
export type OldInstance = 'unauthorized' | 'redirect' | 'closed';

/** Host of the org's API. A move does not change the URLs of the OAuth server. */
export class Instance {
  readonly #listener: RequestListener;
  readonly #servers: RunningServer[] = [];
  #current: RunningServer | undefined;
  #old: OldInstance = 'unauthorized';

  /** `listener` is the whole sandbox. */
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

  /** What a request to the API meets that came in at this port; undefined where the org lives. */
  metAt(port: number | undefined): OldInstance | undefined {
    return this.#current === undefined || this.#current.port === port ? undefined : this.#old;
  }

  async close(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.close()));
  }
}
