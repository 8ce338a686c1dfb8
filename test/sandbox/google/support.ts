import { afterEach } from 'vitest';
import { type GoogleSandbox, type GoogleSandboxOptions, startGoogleSandbox } from '../../../sandbox/google/index.ts';

export const DOCTOR = 'doctor@clinic.example';

/** An answer with its body taken apart; `reason` is the first error's. */
export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: the tests look into answers of many shapes
  body: any;
  reason: string | undefined;
}

export interface Bench {
  sandbox: GoogleSandbox;
  calendarId: string;
  /** `/calendars/<the calendar>/events`. */
  events: string;
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** A caller with another token. */
  as(token: string): Bench['call'];
}

const open: GoogleSandbox[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((sandbox) => sandbox.close()));
});

/** A sandbox with one account, one secondary calendar and a token; closed after the test. */
export async function startBench(options: GoogleSandboxOptions = {}): Promise<Bench> {
  const sandbox = await startGoogleSandbox({ timeZone: 'Europe/Zurich', ...options });
  open.push(sandbox);
  const call = caller(sandbox, sandbox.issueAccessToken(DOCTOR));
  const calendarId = sandbox.createCalendar(DOCTOR, 'Appointments');
  const events = `/calendars/${encodeURIComponent(calendarId)}/events`;
  return { sandbox, calendarId, events, call, as: (token) => caller(sandbox, token) };
}

function caller(sandbox: GoogleSandbox, token: string): Bench['call'] {
  return async (method, path, body, headers) => {
    const response = await fetch(`${sandbox.url}/calendar/v3${path}`, {
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
    return {
      status: response.status,
      headers: response.headers,
      body: parsed,
      reason: parsed?.error?.errors?.[0]?.reason,
    };
  };
}

/** A valid event an hour long, on the given day of March 2027. */
export function anEvent(fields: Record<string, unknown> = {}, day = 1): Record<string, unknown> {
  const date = `2027-03-${String(day).padStart(2, '0')}`;
  return {
    summary: 'Appointment',
    start: { dateTime: `${date}T09:00:00`, timeZone: 'Europe/Zurich' },
    end: { dateTime: `${date}T10:00:00`, timeZone: 'Europe/Zurich' },
    ...fields,
  };
}
