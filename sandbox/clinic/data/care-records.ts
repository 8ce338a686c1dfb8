/** Where an episode stands. */
export const EPISODE_STATUSES = ['Open', 'InProgress', 'Closed', 'Cancelled'] as const;

export type EpisodeStatus = (typeof EPISODE_STATUSES)[number];

export interface PracticeDoctor {
  id: string;
  firstName: string;
  lastName: string;
  taxCode: string | null;
  role: string | null;
  /** Part of the price, percent. */
  share: number | null;
}

/** A service line of an episode. */
export interface Practice {
  practiceId: string;
  treatmentId: string;
  description: string;
  quantity: number;
  price: number;
  executedAt: string | null;
  status: string | null;
  doctors: PracticeDoctor[];
}

/** Instants are ISO 8601 with offset, as on the wire. */
export interface Episode {
  id: string;
  patientId: string;
  title: string | null;
  openedAt: string;
  closedAt: string | null;
  status: EpisodeStatus;
  locationId: string | null;
  appointmentId: string | null;
  practices: Practice[];
}

export const REPORT_STATUSES = ['Draft', 'Final', 'Signed', 'Replaced'] as const;

export interface MedicalReport {
  id: string;
  patientId: string;
  episodeId: string | null;
  practiceId: string | null;
  doctorId: string | null;
  title: string;
  type: string | null;
  /** `YYYY-MM-DD`. */
  reportDate: string;
  status: (typeof REPORT_STATUSES)[number];
  fileName: string;
  /** Bytes. */
  fileSize: number;
  contentType: 'application/pdf';
  sha256: string;
  /** File id of the stored PDF; null for a generated report, whose PDF is made on request. Not on the wire. */
  fileId: string | null;
}
