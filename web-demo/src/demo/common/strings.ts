// The words that the Memory page and the graph share, and those of fields in every place.

export const strings = {
  suggestions: (label: string) => `Suggestions for ${label}`,
  noteOn: "note on",

  filters: {
    filters: (set: number) => `Filters${set > 0 ? ` (${set})` : ""}`,
    clear: "Clear",
    asOf: "As of",
    from: "From",
    until: "Until",
    changedSince: "Changed since",
    changedBefore: "Changed before",
    type: "Type", anyType: "Any type",
    source: "Source", anySource: "Any source", conversations: "Conversations", documents: "Documents",
    relation: "Relation", anyRelation: "Any relation",
    status: "Status", anyStatus: "Any status",
    confidence: "Confidence", anyConfidence: "Any confidence",
    orMore: (percent: number) => `${percent} % or more`,
    session: "Session", anySession: "Any session", thisSession: "This session",
    sharedSession: (title: string) => `${title} (shared)`,
    whose: "Whose memory", all: "All memory", own: "Mine", shared: "Shared",
  },

  days: {
    tooEarly: "Choose a day after 1969.",
    future: "Choose a day that is not in the future.",
    before: (day: string, whose: string) => `Choose a day before ${day}, ${whose}.`,
    after: (day: string, whose: string) => `Choose a day after ${day}, ${whose}.`,
    comparisonEnd: "the end of the comparison",
    comparisonBegin: "the beginning of the comparison",
    periodEnd: "the end of the period",
    periodBegin: "the beginning of the period",
  },
};
