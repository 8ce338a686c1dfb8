import type { Counts } from './counts.ts';
import type { FaultPlan, FaultRule } from './faults.ts';
import type { Recording } from './recording.ts';

/** Where the routes for tests and operators of a sandbox live: never counted, recorded or faulted. */
export const ADMIN_PREFIX = '/__sandbox/';

/** What the routes rule over. */
export interface Ruled {
  faults: FaultPlan;
  counts: Counts;
  recording: Recording;
}

/** An answer of an admin route; `body` is a JSON value. */
export interface AdminAnswer {
  status: number;
  body?: unknown;
}

/** True for `/__sandbox/…`. */
export function isAdminPath(url: string | undefined): boolean {
  return url?.startsWith(ADMIN_PREFIX) ?? false;
}

/** Answers the kit's admin routes; undefined when the path is not an admin route. `body` is parsed JSON. */
export function answerAdmin(kit: Ruled, method: string, url: string, body: unknown): AdminAnswer | undefined {
  const { pathname, searchParams } = new URL(url, 'http://sandbox');
  switch (pathname.slice(ADMIN_PREFIX.length)) {
    case 'faults':
      return faultRoutes(kit, method, searchParams.get('id'), body);
    case 'counts':
      return countRoutes(kit, method);
    case 'recording':
      return recordingRoutes(kit, method, body);
    default:
      return undefined;
  }
}

function faultRoutes(kit: Ruled, method: string, id: string | null, body: unknown): AdminAnswer {
  switch (method) {
    case 'GET':
      return { status: 200, body: { rules: kit.faults.list() } };
    case 'POST':
      return addRules(kit, Array.isArray(body) ? body : [body]);
    case 'DELETE':
      if (id === null) {
        kit.faults.clear();
        return { status: 204 };
      }
      return { status: kit.faults.remove(id) ? 204 : 404 };
    default:
      return { status: 405 };
  }
}

function addRules(kit: Ruled, rules: FaultRule[]): AdminAnswer {
  try {
    return { status: 201, body: { ids: kit.faults.add(...rules) } };
  } catch (error) {
    return { status: 400, body: { message: String(error) } };
  }
}

function countRoutes(kit: Ruled, method: string): AdminAnswer {
  switch (method) {
    case 'GET':
      return { status: 200, body: kit.counts.snapshot() };
    case 'DELETE':
      kit.counts.reset();
      return { status: 204 };
    default:
      return { status: 405 };
  }
}

function recordingRoutes(kit: Ruled, method: string, body: unknown): AdminAnswer {
  switch (method) {
    case 'GET':
      return { status: 200, body: { on: kit.recording.on, requests: kit.recording.recorded() } };
    case 'PUT':
      kit.recording.record(typeof body === 'object' && body !== null && 'on' in body && body.on === true);
      return { status: 200, body: { on: kit.recording.on } };
    case 'DELETE':
      kit.recording.clear();
      return { status: 204 };
    default:
      return { status: 405 };
  }
}
