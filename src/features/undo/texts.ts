import type { Texts } from '../../documents/document.ts';
import type { UndoResult } from './undo.ts';

/** Results of an undone record; `waiting`: expected result of a dry run. */
export const UNDO_RESULTS: Texts<Readonly<Record<UndoResult | 'waitingStill', string>>> = {
  en: {
    restored: 'in place, as the clinic has it now',
    waiting: 'would be brought to what the clinic has now',
    waitingStill: 'not yet in place',
    cancelled: 'the clinic has cancelled it: left out',
    gone: 'the clinic has it no more: it can not be restored',
    'no-consent': 'the patient does not agree to it any more: left out',
    'outside-window': 'outside of the target’s window',
    unusable: 'its row in the clinic can not be used',
    unread: 'it could not be read in the clinic: undo again later',
    'no-target': 'the target is paused, or configured no longer',
  },
  it: {
    restored: 'al suo posto, come la clinica lo ha ora',
    waiting: 'verrebbe portato a ciò che la clinica ha ora',
    waitingStill: 'non ancora al suo posto',
    cancelled: 'la clinica l’ha annullato: resta fuori',
    gone: 'la clinica non l’ha più: non si può ripristinare',
    'no-consent': 'il paziente non è più d’accordo: resta fuori',
    'outside-window': 'fuori dalla finestra della destinazione',
    unusable: 'la sua riga nella clinica non si può usare',
    unread: 'non si è potuto leggere nella clinica: ripetere l’annullamento più tardi',
    'no-target': 'la destinazione è in pausa, o non è più configurata',
  },
};
