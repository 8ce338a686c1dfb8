import { HOSTILE, type Hostile, sampleOf } from '../../test/attacks/hostile-servers.ts';
import { type ScriptedAnswer, startScriptedServer } from '../../test/clinic/scripted-server.ts';

/** Latency of a clinic on the internet. */
const LATENCY_MS = 50;

/** Rows of an ordinary page. */
const ROWS = 200;

/**
 * Servers in a separate process, so that their work does not delay the measured process: `server-main.ts <seed> <draws>`. Sends its port to
 * the parent, and on request the bytes of all hostile answers. `/honest/…` and `/distant/…` are
 * clinics with a page of ordinary rows, without and with latency.
 */
const [seed = 0, draws = 0] = process.argv.slice(2).map(Number);
const honest = { body: Buffer.from(JSON.stringify(ordinaryPage())), headers: { 'content-type': 'application/json' } };
let sentBytes = 0;
const opened = new Map<string, Hostile[]>();

const server = await startScriptedServer((request): ScriptedAnswer => {
  server.requests.length = 0;
  const [, name = '', draw = ''] = request.path.split('/').map(decodeURIComponent);
  if (name === 'honest') return honest;
  if (name === 'distant') return { ...honest, afterMs: LATENCY_MS };
  const family = HOSTILE[name];
  if (family === undefined) return { status: 404 };
  const hostile = opened.get(name) ?? sampleOf(family, { seed, numRuns: draws });
  opened.set(name, hostile);
  const rest = request.path.split('/').slice(3).join('/');
  const answer = hostile[Number(draw)]?.(request, `/${rest}`) ?? { status: 404 };
  sentBytes += answer.body?.length ?? 0;
  return answer;
});
process.on('message', () => process.send?.(sentBytes));
process.once('disconnect', () => process.exit());
process.send?.(Number(new URL(server.url).port));

function ordinaryPage(): object {
  const data = Array.from({ length: ROWS }, (_, at) => ({
    id: `appointment-${at}`,
    agendaId: `agenda-${at % 4}`,
    patientId: `patient-${at}`,
    treatmentId: `treatment-${at % 20}`,
    start: `2026-03-01T${String(8 + (at % 10)).padStart(2, '0')}:${at % 2 === 0 ? '00' : '30'}:00Z`,
    end: `2026-03-01T${String(9 + (at % 10)).padStart(2, '0')}:00:00Z`,
    status: at % 3 === 0 ? 'confirmed' : 'booked',
    notes: `Controllo annuale n. ${at}`,
    updatedAt: '2026-02-20T10:15:30Z',
  }));
  return { data, total: ROWS };
}
