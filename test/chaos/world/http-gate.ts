import {
  type FaultProxy,
  type ProxiedAnswer,
  type ProxiedRequest,
  type ProxyFault,
  startFaultProxy,
} from '../../../sandbox/kit/fault-proxy.ts';
import { type Await, type AwaitHub, operationOf, type Service } from './awaits.ts';

/** What the gate of one server needs beside it. */
export interface HttpGateOptions {
  service: Service;
  hub: AwaitHub;
  /** Who sends from a port. */
  pidOf: (port: number) => number | null;
  /** Tells lies in place of the server's answer; null when it has none to tell. */
  lie?: (request: ProxiedRequest, answer: ProxiedAnswer) => Promise<ProxiedAnswer | null>;
  /** Told of a request before the server sees it; what it gives is told what the server did. */
  watch?: (request: ProxiedRequest) => Promise<(() => Promise<void>) | null>;
}

const READS = /^(GET|HEAD|OPTIONS|PROPFIND|REPORT)$/;
/** Reading by key is a POST too. */
const READING_POSTS = /\/(batch\/read|search|userinfo|token)(\?|$)/;

/** Opens a gate before a server: every request of a daemon is an await of the hub. */
export async function openHttpGate(server: string, options: HttpGateOptions): Promise<FaultProxy> {
  const { service, hub, pidOf, lie, watch } = options;
  const settling = new WeakMap<ProxiedRequest, () => Promise<void>>();
  return startFaultProxy(server, {
    async choose(request, from): Promise<ProxyFault | null> {
      const settle = await watch?.(request);
      if (settle !== undefined && settle !== null) settling.set(request, settle);
      const { method, url } = request;
      const isWrite = !READS.test(method) && !READING_POSTS.test(url);
      const at: Await = { service, name: `${service} ${operationOf(method, url)}`, isWrite, pid: () => pidOf(from) };
      const snare = hub.meet(at);
      if (snare?.moment.side === 'before') {
        await snare.strike?.(at);
        const fault = typeof snare.fault === 'function' ? snare.fault(at) : snare.fault;
        if (fault !== undefined) return fault;
      }
      if (snare?.moment.side !== 'after' && lie === undefined) return null;
      return {
        kind: 'rewrite',
        async answer(answer, sent) {
          if (snare?.moment.side === 'after') await snare.strike?.(at);
          return (await lie?.(sent, answer)) ?? answer;
        },
      };
    },
    answered: async (request) => settling.get(request)?.(),
  });
}
