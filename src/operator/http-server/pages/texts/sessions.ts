import type { Texts } from '../../../documents/document.ts';

const en = {
  title: 'Your sessions',
  intro:
    'Browsers in which you are signed in. If you do not recognise one, end it and choose another passphrase or password.',
  browser: 'Browser',
  network: 'Network',
  began: 'Signed in',
  lastUsed: 'Last used',
  here: 'this browser',
  end: 'End',
  endOthers: 'End all others',
  unknown: 'unknown',
};

/** Texts of the page of own sessions. */
export const SESSIONS: Texts<typeof en> = {
  en,
  it: {
    title: 'Le tue sessioni',
    intro:
      'Browser in cui hai effettuato l’accesso. Se non ne riconosci uno, termina la sessione e scegli un’altra passphrase o password.',
    browser: 'Browser',
    network: 'Rete',
    began: 'Accesso',
    lastUsed: 'Ultimo uso',
    here: 'questo browser',
    end: 'Termina',
    endOthers: 'Termina tutte le altre',
    unknown: 'non noto',
  },
};
