import { changes } from './common.ts';
import { field, type Shape } from './fields.ts';

const { id, text, word, choice, whole, decimal, date, instant, needed, list } = field;

/** Somebody who took part in a practice. */
const doctor = {
  id: needed(id('id')),
  firstName: text('firstName'),
  lastName: text('lastName'),
  taxCode: id('taxCode'),
  role: word('role'),
  share: decimal('share'),
} satisfies Shape;

/** A line of an episode: one service delivered, by no, one or several doctors. */
const practice = {
  practiceId: needed(id('practiceId')),
  treatmentId: id('treatmentId'),
  description: text('description'),
  quantity: decimal('quantity'),
  price: decimal('price'),
  executedAt: instant('executedAt'),
  status: word('status'),
  doctors: list(doctor, 'doctors'),
} satisfies Shape;

/** A part of a patient's pathway (specification sections 2.2 and 2.3). */
export const episode = {
  id: needed(id('id')),
  patientId: id('patientId'),
  title: text('title'),
  openedAt: instant('openedAt'),
  closedAt: instant('closedAt'),
  status: choice(['Open', 'InProgress', 'Closed', 'Cancelled'], 'status'),
  locationId: id('locationId'),
  appointmentId: id('appointmentId'),
  practices: list(practice, 'practices'),
  ...changes,
} satisfies Shape;

/** A clinical document; its PDF is fetched apart. */
export const medicalReport = {
  id: needed(id('id')),
  patientId: id('patientId'),
  episodeId: id('episodeId'),
  practiceId: id('practiceId'),
  doctorId: id('doctorId'),
  title: text('title'),
  type: word('type'),
  reportDate: date('reportDate'),
  status: choice(['Draft', 'Final', 'Signed', 'Replaced'], 'status'),
  fileName: text('fileName'),
  fileSizeBytes: whole('fileSize'),
  contentType: word('contentType'),
  sha256: id('sha256'),
  ...changes,
} satisfies Shape;
