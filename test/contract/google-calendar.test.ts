import { describeConnector, describePersonsOwn } from './connector-contract.ts';
import { openGoogleTarget } from './google-calendar-target.ts';

describeConnector('google-calendar', openGoogleTarget, {
  skips: {
    'an object that a client renamed stays the one of its record, which moves and goes with it':
      'the id of an event is given once, with its creation: no method of the API changes it',
  },
});

describePersonsOwn('google-calendar', openGoogleTarget);
