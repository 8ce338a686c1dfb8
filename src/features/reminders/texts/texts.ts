import type { Language } from '../../../messages/message.ts';
/** A text with fields in braces, as in the settings. */
export interface TextTemplate {
  subject: string;
  text: string;
}

/**
 * Default texts with time and location, but without the reason for the visit. With short names and numbers, each fits in one text message
 * of 160 characters (3GPP TS 23.038 section 6.2.1).
 */
export const SHIPPED_TEXTS: Readonly<Record<Language, { withPhone: TextTemplate; withoutPhone: TextTemplate }>> = {
  it: {
    withPhone: {
      subject: 'Promemoria appuntamento {day} alle {time}',
      text: 'Promemoria: appuntamento {day} alle {time}, {clinic}. Per disdire o spostare: {phone}.',
    },
    withoutPhone: {
      subject: 'Promemoria appuntamento {day} alle {time}',
      text: 'Promemoria: appuntamento {day} alle {time}, {clinic}.',
    },
  },
  en: {
    withPhone: {
      subject: 'Reminder: appointment on {day} at {time}',
      text: 'Reminder: appointment on {day} at {time}, {clinic}. To cancel or change it: {phone}.',
    },
    withoutPhone: {
      subject: 'Reminder: appointment on {day} at {time}',
      text: 'Reminder: appointment on {day} at {time}, {clinic}.',
    },
  },
};

/** Texts of corrections. The announced time identifies the appointment for patients with several appointments. */
export const CORRECTION_TEXTS: Readonly<
  Record<'moved' | 'cancelled', Readonly<Record<Language, { withPhone: TextTemplate; withoutPhone: TextTemplate }>>>
> = {
  moved: {
    it: {
      withPhone: {
        subject: 'Appuntamento spostato: {day} alle {time}',
        text: 'Appuntamento spostato: non {toldDay} alle {toldTime} ma {day} alle {time}, {clinic}. Info: {phone}.',
      },
      withoutPhone: {
        subject: 'Appuntamento spostato: {day} alle {time}',
        text: 'Appuntamento spostato: non {toldDay} alle {toldTime} ma {day} alle {time}, {clinic}.',
      },
    },
    en: {
      withPhone: {
        subject: 'Appointment moved: {day} at {time}',
        text: 'Appointment moved: not {toldDay} at {toldTime} but {day} at {time}, {clinic}. Questions: {phone}.',
      },
      withoutPhone: {
        subject: 'Appointment moved: {day} at {time}',
        text: 'Appointment moved: not {toldDay} at {toldTime} but {day} at {time}, {clinic}.',
      },
    },
  },
  cancelled: {
    it: {
      withPhone: {
        subject: 'Appuntamento annullato: {toldDay} alle {toldTime}',
        text: 'Appuntamento di {toldDay} alle {toldTime} annullato, {clinic}. Info: {phone}.',
      },
      withoutPhone: {
        subject: 'Appuntamento annullato: {toldDay} alle {toldTime}',
        text: 'Appuntamento di {toldDay} alle {toldTime} annullato, {clinic}.',
      },
    },
    en: {
      withPhone: {
        subject: 'Appointment cancelled: {toldDay} at {toldTime}',
        text: 'The appointment on {toldDay} at {toldTime} is cancelled, {clinic}. Questions: {phone}.',
      },
      withoutPhone: {
        subject: 'Appointment cancelled: {toldDay} at {toldTime}',
        text: 'The appointment on {toldDay} at {toldTime} is cancelled, {clinic}.',
      },
    },
  },
};

type Texts = { withPhone: TextTemplate; withoutPhone: TextTemplate };

/** Texts of a reminder of several visits on one day; `{time}` has all times. Three visits fit in one text message. */
export const VISITS_TEXTS: Readonly<Record<Language, Texts>> = {
  it: {
    withPhone: {
      subject: 'Promemoria appuntamenti {day} alle {time}',
      text: 'Promemoria: appuntamenti {day} alle {time}, {clinic}. Per disdire o spostare: {phone}.',
    },
    withoutPhone: {
      subject: 'Promemoria appuntamenti {day} alle {time}',
      text: 'Promemoria: appuntamenti {day} alle {time}, {clinic}.',
    },
  },
  en: {
    withPhone: {
      subject: 'Reminder: appointments on {day} at {time}',
      text: 'Reminder: appointments on {day} at {time}, {clinic}. To cancel or change them: {phone}.',
    },
    withoutPhone: {
      subject: 'Reminder: appointments on {day} at {time}',
      text: 'Reminder: appointments on {day} at {time}, {clinic}.',
    },
  },
};

/** Texts of several corrections; `{changes}` has one part for each visit, in short dates for the length of text messages. */
export const CHANGE_TEXTS: Readonly<Record<Language, Texts & Record<'moved' | 'cancelled' | 'at', string>>> = {
  it: {
    withPhone: { subject: 'Appuntamenti cambiati', text: 'Appuntamenti cambiati, {clinic}: {changes}. Info: {phone}.' },
    withoutPhone: { subject: 'Appuntamenti cambiati', text: 'Appuntamenti cambiati, {clinic}: {changes}.' },
    moved: '{told} spostato a {now}',
    cancelled: '{told} annullato',
    at: '{now}',
  },
  en: {
    withPhone: {
      subject: 'Appointments changed',
      text: 'Appointments changed, {clinic}: {changes}. Questions: {phone}.',
    },
    withoutPhone: { subject: 'Appointments changed', text: 'Appointments changed, {clinic}: {changes}.' },
    moved: '{told} moved to {now}',
    cancelled: '{told} cancelled',
    at: '{now}',
  },
};

/** Titles of calendar files in e-mails. */
export const ENTRY_TITLES: Readonly<Record<Language, string>> = { it: 'Appuntamento', en: 'Appointment' };
