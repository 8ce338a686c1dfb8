import type { Texts } from '../../../documents/texts/texts.ts';

const en = {
  title: 'Queues',
  intro:
    'Work of the daemon as it stands in Redis. Nothing can be changed here: what failed comes again by itself or with the next cycle.',
  queue: 'Queue',
  waiting: 'Waiting',
  active: 'Under way',
  delayed: 'Later',
  failed: 'Failed',
  jobs: 'Jobs',
  job: 'Job',
  tenant: 'Clinic',
  target: 'Target',
  due: 'Due',
  ended: 'Ended',
  attempts: 'Tries',
  state: 'State',
  noJobs: 'Nothing waits, runs or failed.',
  why: 'Why a job failed is told by the log of the daemon, by the job’s id.',
};

/** The words of the queues. */
export const QUEUES: Texts<typeof en> = {
  en,
  it: {
    title: 'Code',
    intro:
      'Il lavoro del servizio come sta in Redis. Qui non si cambia nulla: ciò che non è riuscito si ripete da sé o con il prossimo ciclo.',
    queue: 'Coda',
    waiting: 'In attesa',
    active: 'In corso',
    delayed: 'Più tardi',
    failed: 'Non riusciti',
    jobs: 'Lavori',
    job: 'Lavoro',
    tenant: 'Clinica',
    target: 'Destinazione',
    due: 'Previsto',
    ended: 'Finito',
    attempts: 'Tentativi',
    state: 'Stato',
    noJobs: 'Nulla attende, è in corso o non è riuscito.',
    why: 'Perché un lavoro non è riuscito lo dice il registro del servizio, con il codice del lavoro.',
  },
};
