import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { SandboxKit } from '../../sandbox/kit/kit.ts';
import { listenNode } from '../../sandbox/kit/listen.ts';
import { startMailSandbox } from '../../sandbox/mail/index.ts';
import { startSmsSandbox } from '../../sandbox/sms/index.ts';
import { localText } from './local-time.ts';
import type { World } from './world.ts';
import { AGENDAS, type ReceivedMessage } from './world-plan.ts';

/** Shares of the calls that go wrong. */
export interface Failures {
  /** The server accepts the message and its answer is lost. */
  lostAnswers: number;
  /** The server requests a later retry. */
  throttled: number;
}

/** Phones, mailboxes and a receiver of webhooks; received messages become part of the world's history. */
export type Receivers = Awaited<ReturnType<typeof startReceivers>>;

const SUBJECT = /^Subject: ([a-z+-]+) (\d\d\/\d\d\/\d{4} \d\d:\d\d)\r?$/m;
const UNSUBSCRIBE = /\?reminder=([0-9a-v]{32})/;

/** Starts them on loopback. */
export async function startReceivers(world: World, seed: number, { lostAnswers, throttled }: Failures) {
  const sms = await startSmsSandbox({ seed });
  const mail = await startMailSandbox({ seed, security: 'none' });
  const hook = await startHook(world, seed);
  const later = { rate: throttled, fault: { kind: 'status', status: 429 } };
  const lost = { rate: lostAnswers, fault: { kind: 'lost-answer' } };
  sms.faults.add(later, lost);
  hook.faults.add({ ...later, fault: { kind: 'status', status: 503 } }, lost);
  mail.faults.add({ match: { method: 'RCPT' }, rate: throttled, fault: { kind: 'reply', code: 451 } });
  mail.faults.add({ match: { method: 'DATA' }, ...lost });
  const unsubscribable = new Map<string, string>();
  return {
    sms,
    mail,
    hookUrl: hook.url,
    /** Id of the last reminder by mail for each address, which its unsubscribe link contains. */
    unsubscribable,
    /** Adds messages since the last call to the history. */
    collect() {
      for (const { sid, to, body } of sms.messages()) {
        for (const line of linesOf(body, new Date(world.now).getUTCFullYear())) {
          note(world, { channel: 'text', ...line, to, messageId: sid });
        }
      }
      sms.clear();
      for (const { to, raw } of mail.mails()) {
        const source = raw.toString('latin1');
        const [, rule = '', told = ''] = SUBJECT.exec(source) ?? [];
        const reminderId = UNSUBSCRIBE.exec(source.replaceAll(/\r?\n\s+/g, ''))?.[1];
        for (const address of to) {
          if (reminderId !== undefined) unsubscribable.set(address, reminderId);
          note(world, { channel: 'mail', ...saidBy(rule), to: address, told, messageId: reminderId ?? '' });
        }
      }
      mail.clear();
    },
    close: () => Promise.all([sms.close(), mail.close(), hook.close()]),
  };
}

const CHANGES = /^(?:Appointments changed|Appuntamenti cambiati), [^:]+: (.+)\.$/;

/** The times in a text message: one, all of a list of visits, or those of a list of changes, which have no year. */
export function linesOf(body: string, year: number): Pick<ReceivedMessage, 'rule' | 'correction' | 'told'>[] {
  const changes = CHANGES.exec(body)?.[1];
  if (changes === undefined) {
    const [word = '', date = '', ...times] = body.split(' ');
    const said = times.join(' ').match(/\d\d:\d\d/g) ?? [''];
    return said.map((time) => ({ ...saidBy(word), told: `${date} ${time}` }));
  }
  return changes.split('; ').map((change) => {
    const times = [...change.matchAll(/(\d\d\/\d\d) (\d\d:\d\d)/g)].map(([, date, time]) => `${date}/${year} ${time}`);
    const isCancelled = / (cancelled|annullato)$/.test(change);
    const isMoved = / (moved to|spostato a) /.test(change) && times.length === 2;
    return {
      rule: '',
      correction: isCancelled ? 'cancelled' : isMoved ? 'moved' : 'again',
      told: (isMoved ? times[1] : times[0]) ?? '',
    };
  });
}

/** The first word of a message: its rule, and what it corrects. */
function saidBy(word: string): Pick<ReceivedMessage, 'rule' | 'correction'> {
  const [rule = '', correction = null] = word.split('+');
  return { rule, correction: correction as ReceivedMessage['correction'] };
}

function note(world: World, message: ReceivedMessage): void {
  world.history.push({ at: world.now, kind: 'message', message });
}

async function startHook(world: World, seed: number) {
  const kit = new SandboxKit({ seed });
  const server = createServer(
    kit.wrap(async (request, response) => {
      const body = await text(request).catch(() => null);
      if (body === null) return;
      const { rule, agendaId, patientId, startAt, correction } = (JSON.parse(body) as { data: Record<string, string> })
        .data;
      note(world, {
        channel: 'hook',
        rule: rule ?? '',
        correction: correction === 'moved' || correction === 'cancelled' ? correction : null,
        to: patientId ?? '',
        told: localText(Date.parse(startAt ?? ''), AGENDAS[agendaId ?? '']?.zone ?? 'UTC'),
        messageId: String(request.headers['webhook-id']),
      });
      response.writeHead(204).end();
    }),
  );
  const running = await listenNode(server);
  return { ...running, faults: kit.faults };
}
