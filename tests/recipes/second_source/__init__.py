"""A second source of records: the register of a country."""

from pathlib import Path

from tests.recipes.recipe import Edit, Recipe, inserted

BOOTSTRAP = "bootstrap.py"

RECIPE = Recipe(
    task="A second source of records",
    folder=Path(__file__).parent,
    files={"sources/national.py": "national.py"},
    edits=(
        inserted(
            BOOTSTRAP,
            "from registerwatch.sources.eudamed.nomenclature import EudamedNomenclature\n",
            "from registerwatch.sources.national import NationalRegister\n",
        ),
        Edit(
            BOOTSTRAP,
            "[data_lake, register]",
            '[data_lake, register, NationalRegister(settings.data_dir / "national.csv")]',
        ),
        Edit("pyproject.toml", '"eudamed | data_lake | record_file"', '"eudamed | data_lake | record_file | national"'),
    ),
)
