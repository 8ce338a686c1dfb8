import { basename } from 'node:path';
import { errors } from '../../examples/json-calendar/errors.ts';
import type { Files } from '../../examples/json-calendar/files.ts';
import { fileSystem } from '../../examples/json-calendar/files.ts';
import {
  type FaultProxy,
  matches,
  type ProxiedRequest,
  type ProxyFault,
  type ProxyRule,
} from '../../sandbox/kit/fault-proxy.ts';

/** The failures of a file system, by the status with which a server would report them. */
const FAILURES: Readonly<Record<number, () => Error>> = {
  403: () => errors.make('not-permitted'),
  404: () => errors.make('calendar-gone'),
};

/**
 * Stands between a connector and its files as the fault proxy between a connector and its server: records each access, and fails on demand.
 * The method is READ, WRITE or MKCALENDAR, the URL is the name of the file, and the body is the text to write.
 */
export class FaultyFiles implements Files, FaultProxy {
  readonly url = 'file:';
  requests: ProxiedRequest[] = [];
  maxInFlight = 0;
  #inFlight = 0;
  #rules: (ProxyRule & { seen: number; used: number })[] = [];

  add(rule: ProxyRule): void {
    this.#rules.push({ ...rule, seen: 0, used: 0 });
  }

  clear(): void {
    this.#rules = [];
  }

  forget(): void {
    this.requests = [];
    this.maxInFlight = 0;
  }

  async close(): Promise<void> {}

  list(folder: string): Promise<string[]> {
    return fileSystem.list(folder);
  }

  async read(path: string): Promise<string | null> {
    return await this.#access(this.#record('READ', path), () => fileSystem.read(path));
  }

  async replace(path: string, edit: (before: string | null) => string | null, signal: AbortSignal): Promise<void> {
    const isThere = (await fileSystem.read(path)) !== null;
    const request = this.#record(isThere ? 'WRITE' : 'MKCALENDAR', path);
    const recorded = (before: string | null) => {
      const after = edit(before);
      request.body = after ?? '';
      return after;
    };
    await this.#access(request, () => fileSystem.replace(path, recorded, signal));
  }

  #record(method: string, path: string): ProxiedRequest {
    const request = { method, url: `/${basename(path)}`, headers: {}, body: '' };
    this.requests.push(request);
    return request;
  }

  async #access<Result>(request: ProxiedRequest, carryOut: () => Promise<Result>): Promise<Result> {
    this.#inFlight += 1;
    this.maxInFlight = Math.max(this.maxInFlight, this.#inFlight);
    try {
      return await this.#withFault(this.#faultOf(request), carryOut);
    } finally {
      this.#inFlight -= 1;
    }
  }

  #faultOf(request: ProxiedRequest): ProxyFault | null {
    const rule = this.#rules.find((each) => {
      if (!matches(each, request)) return false;
      each.seen += 1;
      return each.seen > (each.after ?? 0) && each.used < (each.times ?? 1);
    });
    if (rule === undefined) return null;
    rule.used += 1;
    return rule.fault;
  }

  async #withFault<Result>(fault: ProxyFault | null, carryOut: () => Promise<Result>): Promise<Result> {
    if (fault === null) return await carryOut();
    if (fault.kind === 'cut' || fault.kind === 'html') throw errors.make('storage-failed');
    if (fault.kind === 'answer') throw FAILURES[fault.answer.status]?.() ?? errors.make('storage-failed');
    if (fault.kind === 'hold') await fault.until;
    if (fault.kind === 'latency') await new Promise((resolve) => setTimeout(resolve, fault.ms));
    const result = await carryOut();
    if (fault.kind === 'lost-answer') throw errors.make('storage-failed');
    if (fault.kind !== 'cut-body') return result;
    // An editor that does not replace the file at once shows a part of it to readers.
    if (typeof result === 'string') return result.slice(0, result.length / 2) as Result;
    throw errors.make('storage-failed');
  }
}
