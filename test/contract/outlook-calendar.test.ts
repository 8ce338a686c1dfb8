import { describeConnector, describePersonsOwn } from './connector-contract.ts';
import { openOutlookTarget } from './outlook-calendar-target.ts';

const TURNS = 'requests of one process to a mailbox take turns: a second one waits for the one that is held';

describeConnector('outlook-calendar', openOutlookTarget, {
  skips: {
    'a reminder setting of none rings nowhere, and prevents programs from adding one':
      'Outlook has no word for none: what we write has no reminder unless the target has one',
    'an object that a client renamed stays the one of its record, which moves and goes with it':
      'with immutable ids no client changes the id or the transaction id of an event',
    'a create that arrives after the deletion of its record is found by its key, and can be deleted': TURNS,
    'a delayed update does not overwrite another worker’s newer write': TURNS,
  },
});

describePersonsOwn('outlook-calendar', openOutlookTarget);
