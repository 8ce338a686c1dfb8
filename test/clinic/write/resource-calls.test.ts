import { expect, test } from 'vitest';
import { createAppointmentCalls } from '../../../src/clinic/write/appointment-calls.ts';
import type { HttpRequest } from '../../../src/core/http/client.ts';
import { openClient, profileOf, unhurried } from '../open-client.ts';

test.each(['replace', 'merge'] as const)(
  'an update (%s) sends ids above 2^53 as the original numbers',
  async (updates) => {
    const row = `{"id":9007199254740993,"agendaId":9007199254740995,"room":{"ids":[9007199254740997]},"code":"9007199254740999",
    "start":"2026-12-01T09:00:00+01:00","end":"2026-12-01T09:30:00+01:00","status":"Booked"}`;
    const asked: HttpRequest[] = [];
    const http = {
      send: async (request: HttpRequest) => {
        asked.push(request);
        const headers = new Headers({ 'content-type': 'application/json' });
        return { status: 200, headers, body: Buffer.from(row), retryAfterMs: null };
      },
      open: () => Promise.reject(new Error('not asked')),
      asFetch: () => () => Promise.reject(new Error('not asked')),
    };
    const { context } = openClient('https://clinic.test', profileOf({ writes: { updates } }), { http });
    await createAppointmentCalls(context).update('t', '9007199254740993', { notes: 'moved' }, unhurried());
    const sent = asked.find(({ method }) => method === 'PUT')?.body;
    const whole = JSON.stringify(
      JSON.parse(row.replaceAll(/:(\d{16})|\[(\d{16})/g, (all) => `${all[0]}"#${all.slice(1)}#"`)),
    );
    const unchanged = whole.replaceAll(/"#|#"/g, '').slice(1, -1);
    expect(sent).toBe(updates === 'merge' ? '{"notes":"moved"}' : `{${unchanged},"notes":"moved"}`);
  },
);
