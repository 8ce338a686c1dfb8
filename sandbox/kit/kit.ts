import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ADMIN_PREFIX, answerAdmin, isAdminPath } from './admin.ts';
import { Counts } from './counts.ts';
import { FaultPlan } from './faults.ts';
import { Recording } from './recording.ts';
import { type DefaultFaultBody, playFaults } from './wire.ts';

/** Settings that a vendor's sandbox passes to the kit. */
export interface KitOptions {
  /** Seed of the fault rules' generators. */
  seed?: number;
  /** Names the caller, for `match.client` and for the in-flight figure `client:<name>`. */
  clientOf?(request: IncomingMessage): string | undefined;
  /** The vendor's error body for `status` faults that bring none. */
  faultBody?: DefaultFaultBody;
}

/**
 * Shared parts of every sandbox server: a fault plan, counters and a recording. `install()` adds them to a fastify application, `wrap()` to
 * a plain node listener. In-flight figures: `http`, and `client:<name>` when `clientOf` is given.
 */
export class SandboxKit {
  readonly faults: FaultPlan;
  readonly counts = new Counts();
  readonly recording = new Recording();
  readonly #options: KitOptions;

  constructor(options: KitOptions = {}) {
    this.#options = options;
    this.faults = new FaultPlan(options.seed);
  }

  /**
   * Adds the kit to the root of a fastify application, before its routes. Faults play in `preHandler`, when the body has
   * been read; a `preHandler` hook that must see every request (a concurrency figure) is added before this call.
   */
  install(app: FastifyInstance): void {
    app.addHook('onRequest', async (request, reply) => {
      if (!isAdminPath(request.raw.url)) {
        this.#arrive(request.raw, reply.raw, () => request.routeOptions.url ?? 'unmatched');
      }
    });
    app.addHook('preHandler', async (request, reply) => {
      if (!isAdminPath(request.raw.url) && (await this.#play(request.raw, reply.raw))) {
        return reply.hijack();
      }
    });
    app.route({
      method: ['GET', 'POST', 'PUT', 'DELETE'],
      url: `${ADMIN_PREFIX}:what(faults|counts|recording)`,
      handler: (request, reply) => this.#admin(request, reply),
    });
  }

  /** Adds the kit to a plain node listener. `routeOf` returns the route for the counters; default: the path. */
  wrap(listener: RequestListener, routeOf: (request: IncomingMessage) => string = pathOf): RequestListener {
    return (request, response) => {
      this.#handleNode(listener, routeOf, request, response).catch(() => response.destroy());
    };
  }

  async #handleNode(
    listener: RequestListener,
    routeOf: (request: IncomingMessage) => string,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    if (isAdminPath(request.url)) {
      const body = request.method === 'POST' || request.method === 'PUT' ? await json(request) : undefined;
      const answer = answerAdmin(this, request.method ?? '', request.url ?? '', body);
      if (answer) {
        response.writeHead(answer.status, { 'content-type': 'application/json' });
        response.end(answer.body === undefined ? undefined : JSON.stringify(answer.body));
        return;
      }
    } else {
      this.#arrive(request, response, () => routeOf(request));
      if (await this.#play(request, response)) {
        return;
      }
    }
    listener(request, response);
  }

  async #admin(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const answer = answerAdmin(this, request.method, request.url, request.body);
    return reply.status(answer?.status ?? 404).send(answer?.body);
  }

  #arrive(request: IncomingMessage, response: ServerResponse, routeOf: () => string): void {
    this.recording.note(request);
    const client = this.#options.clientOf?.(request);
    const leave = [this.counts.enter('http')];
    if (client !== undefined) {
      leave.push(this.counts.enter(`client:${client}`));
    }
    let counted = false;
    const count = (): void => {
      if (!counted) {
        counted = true;
        this.counts.countRequest(request.method ?? '', routeOf(), response.headersSent ? response.statusCode : 0);
        for (const end of leave) {
          end();
        }
      }
    };
    // 'finish' comes before a client in this process can read the answer; 'close' alone comes when the socket was cut.
    response.once('finish', count);
    response.once('close', count);
  }

  #play(request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    const faults = this.faults.next({
      method: request.method ?? '',
      path: request.url ?? '',
      client: this.#options.clientOf?.(request),
    });
    return playFaults(faults, request, response, this.#options.faultBody);
  }
}

function pathOf(request: IncomingMessage): string {
  return new URL(request.url ?? '/', 'http://sandbox').pathname;
}
