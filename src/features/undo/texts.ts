import type { Texts } from '../../operator/documents/document.ts';
import type { UndoResult } from './schemas.ts';

/** Results of an undone record; `waiting`: expected result of a dry run. */
export const UNDO_RESULTS: Texts<Readonly<Record<UndoResult | 'waitingStill', string>>> = {
  en: {
    restored: 'restored with current clinic data',
    waiting: 'would be restored with current clinic data',
    waitingStill: 'not restored yet',
    cancelled: 'not restored: cancelled in the clinic',
    gone: 'not restored: deleted in the clinic',
    'no-consent': 'not restored: no patient consent',
    'outside-window': 'not restored: outside the target’s window',
    unusable: 'not restored: unusable clinic record',
    unread: 'not restored: the clinic could not be read; run undo again later',
    policy: 'not restored: the policy of the target permits no update',
    'no-target': 'not restored: the target is paused or no longer configured',
  },
  it: {
    restored: 'al suo posto, come la clinica lo ha ora',
    waiting: 'verrebbe portato a ciò che la clinica ha ora',
    waitingStill: 'non ancora al suo posto',
    cancelled: 'la clinica l’ha annullato: resta fuori',
    gone: 'la clinica non l’ha più: non si può ripristinare',
    'no-consent': 'il paziente non è più d’accordo: resta fuori',
    'outside-window': 'fuori dalla finestra della destinazione',
    unusable: 'il record nella clinica non è utilizzabile',
    unread: 'non si è potuto leggere nella clinica: ripetere l’annullamento più tardi',
    policy: 'la politica della destinazione non consente aggiornamenti',
    'no-target': 'la destinazione è in pausa, o non è più configurata',
  },
};
