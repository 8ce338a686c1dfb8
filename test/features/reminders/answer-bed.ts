import { type Installation, requireTenant } from '../../../src/control/installation.ts';
import { createAnswerServices, type PostedAnswer } from '../../../src/features/reminders/answers.ts';
import { createAddressSecrets } from '../../../src/features/reminders/identity.ts';
import type { OpenAnswers } from '../../../src/features/reminders/ports.ts';
import { DAY_MS } from '../../../src/model/time.ts';
import { createAnswerDirectory, createAnswerStore } from '../../../src/state/answers.ts';
import type { RedisClient } from '../../../src/state/redis.ts';
import { openInstallation } from '../../control/open-installation.ts';
import { book, createReminderWorld, type ReminderWorld } from './reminder-world.ts';

/** The tenant. */
export const ID = 'studio-rossi';
/** The identity key. */
export const KEY = Buffer.alloc(32, 7);
/** What its file says of reminders, beside rules and channels. */
export const ANSWER_FILE = {
  sender: 'Studio <Rossi>',
  phone: '06 1234567',
  links: { cancel: true, cancelUntilHours: 12 },
};

/** A tenant whose reminders carry links, and the page behind them. */
export interface AnswerBed {
  world: ReminderWorld;
  desk: ReturnType<typeof deskOf>;
  pulled: string[];
  /** What stands behind the address in the message. */
  token: string;
  connection: RedisClient;
}

/** How its patients answer, over a connection. */
export function answersOver(connection: RedisClient): OpenAnswers {
  const secrets = createAddressSecrets(KEY, ID);
  const directory = createAnswerDirectory(connection);
  return {
    async linkFor({ reminder, patientId }) {
      const token = secrets.token(reminder);
      await directory.put(
        token,
        { tenant: ID, reminder, patientId, proof: secrets.patient(reminder, patientId) },
        90 * DAY_MS,
      );
      return { url: `https://mirror.test/r/${token}`, cancels: true };
    },
    isOurs: secrets.isOurs,
    proof: secrets.proof,
    callerName: secrets.caller,
    store: createAnswerStore(connection, ID),
  };
}

/** The page of an installation. */
export function deskOf(installation: Installation, connection: RedisClient) {
  const directory = createAnswerDirectory(connection);
  const desk = createAnswerServices({
    installation,
    directory,
    clinicOf: ({ id }) => requireTenant(installation, id).clinic,
  });
  const patient = '198.18.0.9';
  return {
    show: (token: string, caller = patient) => desk.show(token, caller),
    take: (token: string, given: PostedAnswer, caller = patient) => desk.take(token, given, caller),
  };
}

/** A patient has the reminder of an appointment that begins in a day. */
export async function openAnswerBed(connection: RedisClient, file: object = ANSWER_FILE): Promise<AnswerBed> {
  const world = createReminderWorld(connection, { file, answers: answersOver(connection) });
  book(world, 'one', 48);
  await world.cycle();
  await world.advance(DAY_MS);
  const url = world.gateway.delivered[0]?.content.link?.url ?? '';
  const installation = openInstallation({ tenants: [world.tenant] });
  const desk = deskOf({ ...installation, clock: () => world.now }, connection);
  return { world, desk, pulled: installation.pulled, token: url.slice(url.lastIndexOf('/') + 1), connection };
}

/** Opens the page and presses a button. */
export async function press({ desk, token }: AnswerBed, answer: string) {
  const shown = await desk.show(token);
  return desk.take(token, { answer, proof: shown.form?.proof ?? '' });
}
