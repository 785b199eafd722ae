"""The columns of each table as published in 2026, in order."""

from __future__ import annotations

NOTES_COLUMNS = tuple(
    (
        "noteId noteAuthorParticipantId createdAtMillis tweetId classification believable harmful validationDifficulty "
        "misleadingOther misleadingFactualError misleadingManipulatedMedia misleadingOutdatedInformation "
        "misleadingMissingImportantContext misleadingUnverifiedClaimAsFact misleadingSatire notMisleadingOther "
        "notMisleadingFactuallyCorrect notMisleadingOutdatedButNotWhenWritten notMisleadingClearlySatire "
        "notMisleadingPersonalOpinion trustworthySources summary isMediaNote isCollaborativeNote"
    ).split()
)
HISTORY_COLUMNS = tuple(
    (
        "noteId noteAuthorParticipantId createdAtMillis timestampMillisOfFirstNonNMRStatus firstNonNMRStatus "
        "timestampMillisOfCurrentStatus currentStatus timestampMillisOfLatestNonNMRStatus mostRecentNonNMRStatus "
        "timestampMillisOfStatusLock lockedStatus timestampMillisOfRetroLock currentCoreStatus currentExpansionStatus "
        "currentGroupStatus currentDecidedBy currentModelingGroup timestampMillisOfMostRecentStatusChange "
        "timestampMillisOfNmrDueToMinStableCrhTime currentMultiGroupStatus currentModelingMultiGroup "
        "timestampMinuteOfFinalScoringOutput timestampMillisOfFirstNmrDueToMinStableCrhTime"
    ).split()
)
RATINGS_COLUMNS = tuple(
    (
        "noteId raterParticipantId createdAtMillis version agree disagree helpful notHelpful helpfulnessLevel "
        "helpfulOther helpfulInformative helpfulClear helpfulEmpathetic helpfulGoodSources helpfulUniqueContext "
        "helpfulAddressesClaim helpfulImportantContext helpfulUnbiasedLanguage notHelpfulOther notHelpfulIncorrect "
        "notHelpfulSourcesMissingOrUnreliable notHelpfulOpinionSpeculationOrBias notHelpfulMissingKeyPoints "
        "notHelpfulOutdated notHelpfulHardToUnderstand notHelpfulArgumentativeOrBiased notHelpfulOffTopic "
        "notHelpfulSpamHarassmentOrAbuse notHelpfulIrrelevantSources notHelpfulOpinionSpeculation "
        "notHelpfulNoteNotNeeded ratedOnTweetId ratingSourceBucketed suggestion suggestionId"
    ).split()
)
ENROLLMENT_COLUMNS = tuple(
    (
        "participantId enrollmentState successfulRatingNeededToEarnIn timestampOfLastStateChange "
        "timestampOfLastEarnOut modelingPopulation modelingGroup numberOfTimesEarnedOut"
    ).split()
)
