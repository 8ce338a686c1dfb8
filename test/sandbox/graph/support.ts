import { afterEach } from 'vitest';
import { type GraphSandbox, type GraphSandboxOptions, startGraphSandbox } from '../../../sandbox/graph/index.ts';

export const DOCTOR = 'doctor@clinic.example';
/** An extended property of the tests, by the last part of its name. */
export const property = (name: string): string => `String {6f1c7a52-3f0b-4a7e-9f6d-2b1a0c9d8e7f} Name ${name}`;
export const IMMUTABLE = { prefer: 'IdType="ImmutableId"' };

/** An answer with its body taken apart; `code` is the error's. */
export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: the tests look into answers of many shapes
  body: any;
  code: string | undefined;
}

export interface Bench {
  sandbox: GraphSandbox;
  /** A call as the doctor; `path` follows the version, unless it is an absolute URL. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** A caller with another token. */
  as(token: string): Bench['call'];
}

const open: GraphSandbox[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((sandbox) => sandbox.close()));
});

/** A sandbox with one mailbox and a token; closed after the test. */
export async function startBench(options: GraphSandboxOptions = {}): Promise<Bench> {
  const sandbox = await startGraphSandbox(options);
  open.push(sandbox);
  sandbox.addMailbox(DOCTOR);
  return { sandbox, call: caller(sandbox, sandbox.issueAccessToken(DOCTOR)), as: (token) => caller(sandbox, token) };
}

function caller(sandbox: GraphSandbox, token: string): Bench['call'] {
  return async (method, path, body, headers) => {
    const response = await fetch(path.startsWith('http') ? path : `${sandbox.graphUrl}/v1.0${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const parsed = text === '' ? undefined : JSON.parse(text);
    return { status: response.status, headers: response.headers, body: parsed, code: parsed?.error?.code };
  };
}

/** A valid event of an hour, on the given day of March 2027. */
export function anEvent(fields: Record<string, unknown> = {}, day = 1): Record<string, unknown> {
  const date = `2027-03-${String(day).padStart(2, '0')}`;
  return {
    subject: 'Appointment',
    start: { dateTime: `${date}T09:00:00`, timeZone: 'UTC' },
    end: { dateTime: `${date}T10:00:00`, timeZone: 'UTC' },
    ...fields,
  };
}
