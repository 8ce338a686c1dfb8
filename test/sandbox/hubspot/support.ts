import { afterEach } from 'vitest';
import {
  type HubSpotSandbox,
  type HubSpotSandboxOptions,
  startHubSpotSandbox,
} from '../../../sandbox/hubspot/index.ts';

export const KEY = 'clinic_patient_key';
export const CONTACTS = '/crm/v3/objects/contacts';

/** An answer with its body taken apart. */
export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: the tests look into answers of many shapes
  body: any;
}

export interface Bench {
  sandbox: HubSpotSandbox;
  /** A call as a private app with all plain scopes. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** A caller with another token. */
  as(token: string): Bench['call'];
  /** Upserts contacts by the patient key. */
  upsert(...rows: Row[]): Promise<Answer>;
}

/** A row of an upsert; the trace id is the key unless `untraced`. */
export interface Row {
  key: string;
  values?: Record<string, string>;
  untraced?: boolean;
}

const open: HubSpotSandbox[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((sandbox) => sandbox.close()));
});

/** A sandbox where contacts have a unique patient key, and a token; closed after the test. */
export async function startBench(options: HubSpotSandboxOptions = {}): Promise<Bench> {
  const sandbox = await startHubSpotSandbox(options);
  open.push(sandbox);
  sandbox.createProperty('contacts', {
    name: KEY,
    label: 'Patient',
    type: 'string',
    fieldType: 'text',
    hasUniqueValue: true,
  });
  const call = caller(sandbox, sandbox.issuePrivateToken());
  const upsert = (...rows: Row[]): Promise<Answer> => call('POST', `${CONTACTS}/batch/upsert`, upsertBody(...rows));
  return { sandbox, call, upsert, as: (token) => caller(sandbox, token) };
}

export function upsertBody(...rows: Row[]): object {
  const inputs = rows.map(({ key, values = {}, untraced = false }) => ({
    id: key,
    idProperty: KEY,
    properties: values,
    ...(untraced ? {} : { objectWriteTraceId: key }),
  }));
  return { inputs };
}

function caller(sandbox: HubSpotSandbox, token: string): Bench['call'] {
  return async (method, path, body, headers) => {
    const response = await fetch(`${sandbox.apiUrl}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
  };
}
