import { describeConnector, describePersonsOwn } from './connector-contract.ts';
import { openGoogleTarget } from './google-calendar-target.ts';

describeConnector('google-calendar', openGoogleTarget, {
  skips: {
    'a reminder setting of none rings nowhere, and prevents programs from adding one':
      "Google's own default reminders are switched off on what we write: there is no word for none, and none is needed",
    'an object that a client renamed stays the one of its record, which moves and goes with it':
      'the id of an event is given once, with its creation: no method of the API changes it',
  },
});

describePersonsOwn('google-calendar', openGoogleTarget);
