-- Searches for names and titles ignore accents.
-- The updates concern all users.
ALTER TABLE entities NO FORCE ROW LEVEL SECURITY;
UPDATE entities SET search = translate(search, 'àáâãäåçèéêëìíîïñòóôõöùúûüýÿāăąćĉċčďēĕėęěĝğġģĥĩīĭįĵķĺļľńņňōŏőŕŗřśŝşšţťũūŭůűųŵŷźżž',
                                               'aaaaaaceeeeiiiinooooouuuuyyaaaccccdeeeeegggghiiiijklllnnnooorrrssssttuuuuuuwyzzz')
    WHERE search ~ '[^\x01-\x7f]';
ALTER TABLE entities FORCE ROW LEVEL SECURITY;
ALTER TABLE sessions NO FORCE ROW LEVEL SECURITY;
UPDATE sessions SET search = translate(search, 'àáâãäåçèéêëìíîïñòóôõöùúûüýÿāăąćĉċčďēĕėęěĝğġģĥĩīĭįĵķĺļľńņňōŏőŕŗřśŝşšţťũūŭůűųŵŷźżž',
                                               'aaaaaaceeeeiiiinooooouuuuyyaaaccccdeeeeegggghiiiijklllnnnooorrrssssttuuuuuuwyzzz')
    WHERE search ~ '[^\x01-\x7f]';
ALTER TABLE sessions FORCE ROW LEVEL SECURITY;
