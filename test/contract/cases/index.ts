import type { ContractCase } from '../contract-case.ts';
import type { CalendarKit } from '../contract-kit.ts';
import type { CrmKit } from '../crm-kit.ts';
import { adoption, calendarAdoption } from './adoption.ts';
import { askedAlone, calendarAskedAlone } from './asked-alone.ts';
import { authorization } from './authorization.ts';
import { batches } from './batches.ts';
import { budget } from './budget.ts';
import { changes } from './changes.ts';
import { containers } from './containers.ts';
import { crmActivities } from './crm-activities.ts';
import { crmChanges } from './crm-changes.ts';
import { crmData } from './crm-data.ts';
import { crmErasing } from './crm-erasing.ts';
import { crmExisting } from './crm-existing.ts';
import { crmFamilies } from './crm-families.ts';
import { crmLostStamps } from './crm-lost-stamps.ts';
import { crmOddValues } from './crm-odd-values.ts';
import { crmMerging, crmPeople } from './crm-people.ts';
import { crmProperties } from './crm-properties.ts';
import { crmRepetition } from './crm-repetition.ts';
import { data } from './data.ts';
import { histories } from './histories.ts';
import { calendarLateWrites, crmLateWrites, lateWrites } from './late-writes.ts';
import { lostAnswers } from './lost-answers.ts';
import { lostMarks } from './lost-marks.ts';
import { notifications } from './notifications.ts';
import { calendarPeople, people } from './people.ts';
import { calendarPrivacy, privacy } from './privacy.ts';
import { calendarRepetition, repetition } from './repetition.ts';
import { shownAs } from './shown-as.ts';
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
  ...lateWrites,
  ...calendarLateWrites,
  ...people,
  ...calendarPeople,
  ...lostMarks,
  ...adoption,
  ...calendarAdoption,
  ...batches,
  ...askedAlone,
  ...calendarAskedAlone,
  ...throttling,
  ...authorization,
  ...transport,
  ...data,
  ...times,
  ...shownAs,
  ...privacy,
  ...calendarPrivacy,
  ...budget,
  ...changes,
  ...notifications,
  ...containers,
  ...histories,
];

/** Cases that any object of a CRM meets. */
const crmCases: readonly ContractCase<CrmKit>[] = [
  ...crmRepetition,
  ...repetition,
  ...lostAnswers,
  ...twoWorkers,
  ...lateWrites,
  ...crmLateWrites,
  ...people,
  ...crmPeople,
  ...adoption,
  ...batches,
  ...askedAlone,
  ...throttling,
  ...authorization,
  ...transport,
  ...crmData,
  ...crmErasing,
  ...crmLostStamps,
  ...privacy,
  ...budget,
  ...crmChanges,
  ...crmProperties,
  ...histories,
];

/** Every case of the contract for contacts in a CRM, and for objects that belong to them. */
export const contactCases: readonly ContractCase<CrmKit>[] = [
  ...crmCases,
  ...crmMerging,
  ...crmExisting,
  ...crmFamilies,
  ...crmOddValues,
  ...crmActivities,
];

/** Every case of the contract for activities in a CRM. */
export const activityCases: readonly ContractCase<CrmKit>[] = crmCases;

/** Groups about failures and delays of network, server and connection. A connector's second file can run them. */
export const FAILURE_GROUPS: readonly string[] = [
  'lost answers',
  'two workers',
  'late writes',
  'throttling and outages',
  'authorization',
  'transport',
];
