import type { ContractCase } from '../contract-case.ts';
import type { CalendarKit } from '../contract-kit.ts';
import { adoption, calendarAdoption } from './adoption.ts';
import { authorization } from './authorization.ts';
import { batches } from './batches.ts';
import { budget } from './budget.ts';
import { changes } from './changes.ts';
import { containers } from './containers.ts';
import { data } from './data.ts';
import { histories } from './histories.ts';
import { lostAnswers } from './lost-answers.ts';
import { notifications } from './notifications.ts';
import { calendarPeople, people } from './people.ts';
import { calendarPrivacy, privacy } from './privacy.ts';
import { calendarRepetition, repetition } from './repetition.ts';
import { throttling } from './throttling.ts';
import { times } from './times.ts';
import { transport } from './transport.ts';
import { twoWorkers } from './two-workers.ts';

/** Every case of the contract for calendars, in the order of the table. */
export const calendarCases: readonly ContractCase<CalendarKit>[] = [
  ...calendarRepetition,
  ...repetition,
  ...lostAnswers,
  ...twoWorkers,
  ...people,
  ...calendarPeople,
  ...adoption,
  ...calendarAdoption,
  ...batches,
  ...throttling,
  ...authorization,
  ...transport,
  ...data,
  ...times,
  ...privacy,
  ...calendarPrivacy,
  ...budget,
  ...changes,
  ...notifications,
  ...containers,
  ...histories,
];
