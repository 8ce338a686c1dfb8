// Tier: quick. The whole contract of one calendar vendor.
import { describeConnector, describePersonsOwn } from './connector-contract.ts';
import { openGoogleTarget } from './google-calendar-target.ts';

describeConnector('google-calendar', openGoogleTarget, {
  skips: {
    'a reminder setting of none rings nowhere, and prevents programs from adding one':
      "Google's default reminders are disabled on events of clinic-mirror, so no setting for none is required",
    'an object that a client renamed stays the one of its record, which moves and goes with it':
      'the id of an event is set at its creation: no method of the API changes it',
    'an object without marks that a client renamed is found by its UID':
      'the id of an event is set at its creation: no method of the API changes it',
  },
});

describePersonsOwn('google-calendar', openGoogleTarget);
