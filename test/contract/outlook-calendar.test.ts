import { describeConnector, describePersonsOwn } from './connector-contract.ts';
import { openOutlookTarget } from './outlook-calendar-target.ts';

const TURNS = 'a process sends one request to a mailbox at a time: the second one waits for the delayed one';

describeConnector('outlook-calendar', openOutlookTarget, {
  skips: {
    'a reminder setting of none rings nowhere, and prevents programs from adding one':
      'Outlook has no setting for none: events of clinic-mirror have no reminder unless the target has one',
    'an object that a client renamed stays the one of its record, which moves and goes with it':
      'with immutable ids no client changes the id or the transaction id of an event',
    'an object without marks that a client renamed is found by its UID':
      'with immutable ids no client changes the id or the transaction id of an event',
    'a create that arrives after the deletion of its record is found by its key, and can be deleted': TURNS,
    'a delayed update does not overwrite another worker’s newer write': TURNS,
  },
});

describePersonsOwn('outlook-calendar', openOutlookTarget);
