/** A kind of source record that the clinic holds and targets follow. A target follows one. */
export type StreamName = 'appointments' | 'patients' | 'invoices';
