import { afterEach } from 'vitest';
import {
  type SalesforceSandbox,
  type SalesforceSandboxOptions,
  startSalesforceSandbox,
} from '../../../sandbox/salesforce/index.ts';

export const KEY = 'Clinic_Key__c';

/** An answer with its body taken apart; `code` is the first error's. */
export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: the tests look into answers of many shapes
  body: any;
  code: string | undefined;
}

export interface Bench {
  sandbox: SalesforceSandbox;
  /** A call as the integration; `path` follows the version, unless it begins with `/services` or is an absolute URL. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** A collection upsert of contacts by key. */
  upsert(
    rows: Record<string, unknown>[],
    more?: { allOrNone?: boolean; headers?: Record<string, string> },
  ): Promise<Answer>;
  /** A caller with another token. */
  as(token: string): Bench['call'];
}

const open: SalesforceSandbox[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((sandbox) => sandbox.close()));
});

/** A sandbox with a token; closed after the test. */
export async function startBench(options: SalesforceSandboxOptions = {}): Promise<Bench> {
  const sandbox = await startSalesforceSandbox(options);
  open.push(sandbox);
  const call = caller(sandbox, sandbox.issueAccessToken());
  return {
    sandbox,
    call,
    upsert: (rows, { allOrNone = false, headers = {} } = {}) => {
      const records = rows.map((row) => ({ attributes: { type: 'Contact' }, ...row }));
      return call('PATCH', `/composite/sobjects/Contact/${KEY}`, { allOrNone, records }, headers);
    },
    as: (token) => caller(sandbox, token),
  };
}

function caller(sandbox: SalesforceSandbox, token: string): Bench['call'] {
  return async (method, path, body, headers) => {
    const base = path.startsWith('/services') ? sandbox.url : `${sandbox.url}/services/data/${sandbox.apiVersion}`;
    const response = await fetch(path.startsWith('http') ? path : base + path, {
      method,
      redirect: 'manual',
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const parsed = text === '' ? undefined : JSON.parse(text);
    return { status: response.status, headers: response.headers, body: parsed, code: parsed?.[0]?.errorCode };
  };
}

/** A contact that is complete. */
export function contact(key: string, fields: Record<string, unknown> = {}): Record<string, unknown> {
  return { [KEY]: key, LastName: `Name ${key}`, ...fields };
}

/** The error codes of a collection's rows; undefined where a row succeeded. */
export function codes({ body }: Answer): (string | undefined)[] {
  return body.map((row: { errors: { statusCode: string }[] }) => row.errors[0]?.statusCode);
}
